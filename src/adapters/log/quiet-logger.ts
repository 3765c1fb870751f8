/**
 * A seller's logger, behind which every line passes: an error goes out without what its library hung on it, and what the
 * logger itself throws is dropped, because there is nowhere to report it.
 */
import type { Logger } from '../../ports/logger.js'
import { reportable } from './reportable.js'

export function quietLogger(logger: Logger): Logger {
  const say = (level: keyof Logger) => (fields: object, message: string) => {
    try {
      const said: unknown = logger[level](reportable(fields), message)
      // The type allows an async method, whose rejection would end the process.
      if (said instanceof Promise) said.catch(() => {})
    } catch {}
  }
  return { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') }
}
