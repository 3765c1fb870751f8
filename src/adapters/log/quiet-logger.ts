/** Removes fields that libraries add to errors, and drops what the logger itself throws: it cannot be reported anywhere. */
import { shown } from '../../domain/errors.js'
import { invalid, type Option } from '../../domain/option-checks.js'
import { type Logger, silentLogger } from '../../ports/logger.js'

export function quietLogger(logger: Logger): Logger {
  const say = (level: keyof Logger) => (fields: object, message: string) => {
    try {
      const said: unknown = logger[level](reportable(fields), message)
      // The type allows an async method. Its rejection would end the process.
      if (said instanceof Promise) said.catch(() => {})
    } catch {}
  }
  return { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') }
}

/** The option `logger`: silent where there is none. */
export const loggerOrSilent: Option<Logger> = (given, name) => {
  if (given === undefined) return silentLogger
  const levels = ['debug', 'info', 'warn', 'error'] as const
  if (levels.every(level => typeof (given as Logger | null)?.[level] === 'function'))
    return quietLogger(given as Logger)
  throw invalid(`${name} has the functions debug, info, warn and error, as pino's has, not ${shown(given)}`)
}

/**
 * Errors for the log. Libraries add fields to them: ioredis adds the command with its arguments, which name payers, and HTTP
 * clients add the request with its headers. So an error keeps its name, message, stack, cause and a few fields, and loses
 * all others. A `cause` that is text has the words of a facilitator or a node. The rest of a line stays as it is.
 */

/** Codes and numbers of the failure. */
const FIELDS = ['code', 'errno', 'syscall', 'status', 'statusCode'] as const
/** The depth of causes, and of errors in an AggregateError. */
const DEPTH_MAX = 5

/** Redis quotes an unknown command with its arguments. */
const REPEATED_ARGUMENTS = /,? with args beginning with.*/g
/** Algorand addresses: they may be payers'. */
const ADDRESS = /\b[A-Z2-7]{58}\b/g

function reportable(fields: object): object {
  const said = Object.entries(fields)
  if (!said.some(([name, value]) => value instanceof Error || isCause(name, value))) return fields
  return Object.fromEntries(
    said.map(([name, value]) => [name, isCause(name, value) ? masked(value) : withoutBaggage(value, 0)]),
  )
}

function isCause(name: string, value: unknown): boolean {
  return name === 'cause' && typeof value === 'string'
}

function withoutBaggage(value: unknown, depth: number): unknown {
  if (!(value instanceof Error)) return depth === 0 ? value : undefined
  if (depth > DEPTH_MAX) return undefined
  const clean = new Error(masked(value.message))
  Object.defineProperty(clean, 'name', { value: value.name, configurable: true, writable: true })
  clean.stack = masked(value.stack ?? `${value.name}: ${value.message}`)
  for (const field of FIELDS) {
    const said = (value as unknown as Record<string, unknown>)[field]
    if (typeof said === 'string' || typeof said === 'number') Object.assign(clean, { [field]: said })
  }
  const cause = withoutBaggage(value.cause, depth + 1)
  if (cause !== undefined) Object.defineProperty(clean, 'cause', { value: cause, configurable: true })
  const errors = value instanceof AggregateError ? value.errors : undefined
  if (Array.isArray(errors))
    Object.assign(clean, { errors: errors.map(each => withoutBaggage(each, depth + 1)) })
  return clean
}

function masked(text: unknown): string {
  return String(text)
    .replace(REPEATED_ARGUMENTS, '')
    .replace(ADDRESS, address => `${address.slice(0, 4)}…`)
}
