/** Writes tables of TypeScript, above all the machines, into the text of a Lua script. */
import type { Drawing, Table } from '../../../domain/state-machine/transition-table.js'

type Literal = string | readonly Literal[] | { readonly [key: string]: Literal }

/** @throws Error for text that needs escaping. No table of ours has such text. */
export function luaLiteral(value: Literal): string {
  if (typeof value === 'string') return quoted(value)
  if (Array.isArray(value)) return `{${value.map(luaLiteral).join(',')}}`
  const entries = Object.entries(value).map(([key, inner]) => `[${quoted(key)}]=${luaLiteral(inner)}`)
  return `{${entries.join(',')}}`
}

/** A machine as scripts read it: its initial state, and the target of each event of each state. */
export function luaDrawing<D extends Drawing>({ initial, rows }: Table<D>): string {
  const moves = Object.entries<{ readonly on: Readonly<Record<string, string>> }>(rows)
  return luaLiteral({ initial, rows: Object.fromEntries(moves.map(([state, { on }]) => [state, on])) })
}

function quoted(text: string): string {
  if (/^\w+$/.test(text)) return `'${text}'`
  throw new Error(`not a plain word: ${JSON.stringify(text)}`)
}
