/** The comparison as Markdown. */
import type { Comparison } from './run.js'

const CELL_MAX = 160

export function tableOf({ peer, asked, differences }: Comparison): string {
  const explained = differences.filter(({ reason }) => reason !== undefined).length
  const lines = [
    `${asked} questions to the sandbox and to ${peer}: ${differences.length} differences, ${explained} with a reason.`,
    '',
    '| question | the sandbox | the node | why it may |',
    '|---|---|---|---|',
    ...differences.map(({ question, ours, theirs, reason }) => {
      const [mine, other] = apart(ours, theirs)
      return `| ${cell(question)} | ${cell(mine)} | ${cell(other)} | ${reason ?? '**no reason**'} |`
    }),
  ]
  return `${lines.join('\n')}\n`
}

/** Only the parts that differ. */
function apart(ours: unknown, theirs: unknown): [string, string] {
  const [a, b] = [new Map(leaves(ours, '')), new Map(leaves(theirs, ''))]
  const only = (from: Map<string, string>, other: Map<string, string>) =>
    [...from]
      .filter(([path, value]) => other.get(path) !== value)
      .map(([path, value]) => `${path}: ${value}`)
      .join(', ') || 'without it'
  return [only(a, b), only(b, a)]
}

function leaves(value: unknown, path: string): [string, string][] {
  if (typeof value !== 'object' || value === null) return [[path, JSON.stringify(value)]]
  const entries = Object.entries(value)
  if (entries.length === 0) return [[path, JSON.stringify(value)]]
  return entries.flatMap(([key, each]) => leaves(each, path === '' ? key : `${path}.${key}`))
}

function cell(text: string): string {
  const line = text.replaceAll('\n', ' ').replaceAll('|', '\\|').replaceAll('<', '&lt;')
  return line.length > CELL_MAX ? `${line.slice(0, CELL_MAX)}…` : line
}
