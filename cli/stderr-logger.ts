/** One line each on stderr; the SDK puts no key into them. */
import { note } from './output.js'

const said = (fields: object, message: string) => {
  const { err } = fields as { err?: unknown }
  note(`svc: ${message}${err instanceof Error ? `: ${err.message}` : ''}`)
}

export const STDERR_LOGGER = { debug() {}, info() {}, warn: said, error: said }
