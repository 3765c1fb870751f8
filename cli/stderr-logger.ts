/** A line on stderr for each, with all its fields: the SDK puts no key into them. Words of a node may be in them. */
import { json, note, printable } from './output.js'

const said = ({ err, ...fields }: { readonly err?: unknown }, message: string) => {
  const named = Object.entries(fields).map(([name, value]) => `${name}: ${worded(value)}`)
  const details = named.length > 0 ? ` (${named.join(', ')})` : ''
  note(printable(`svc: ${message}${details}${err === undefined ? '' : `: ${worded(err)}`}`))
}

function worded(value: unknown): string {
  if (value instanceof Error) return value.message
  return typeof value === 'string' ? value : json(value)
}

export const STDERR_LOGGER = { debug() {}, info() {}, warn: said, error: said }
