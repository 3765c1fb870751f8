/**
 * A seller's logger. It removes the fields that libraries add to errors, and drops the errors that the logger itself throws,
 * because they cannot be reported anywhere.
 */
import type { Logger } from '../../ports/logger.js'
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
