/** Mutants of what is written to the log are not made: an operator reads it, and no rule of money hangs on it. */
import { declareValuePlugin, PluginKind } from '@stryker-mutator/api/plugin'

const SAYS = 'it only says something in the log'

function shouldIgnore({ node }) {
  if (node.type !== 'CallExpression' || node.callee.type !== 'MemberExpression') return undefined
  const { object } = node.callee
  const name = object.type === 'MemberExpression' ? object.property.name : object.name
  return name === 'logger' ? SAYS : undefined
}

export const strykerPlugins = [declareValuePlugin(PluginKind.Ignore, 'logs', { shouldIgnore })]
