/**
 * A seller's logger. It removes the fields that libraries add to errors, and drops the errors that the logger itself throws,
 * because they cannot be reported anywhere.
 */
import type { Option } from '../../domain/options.js'
import { type Logger, silentLogger } from '../../ports/logger.js'
import { reportable } from './redacted-error.js'

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
export const loggerOrSilent: Option<Logger> = given =>
  given === undefined ? silentLogger : quietLogger(given as Logger)
