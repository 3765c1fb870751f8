/** A seller's logger, whose failures are nobody's outage: what it throws is dropped, because there is no one to tell. */
import type { Logger } from '../../ports/logger.js'

export function quietLogger(logger: Logger): Logger {
  const say = (level: keyof Logger) => (fields: object, message: string) => {
    try {
      const said: unknown = logger[level](fields, message)
      // The type allows an async method, whose rejection would end the process.
      if (said instanceof Promise) said.catch(() => {})
    } catch {}
  }
  return { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') }
}
