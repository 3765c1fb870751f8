/** The subset of pino's interface that is used: any pino-compatible logger fits. It may throw; nobody notices. */
export interface Logger {
  /** What helps to find a bug. */
  debug(fields: object, message: string): void
  /** What happened. */
  info(fields: object, message: string): void
  /** What an operator should look at. */
  warn(fields: object, message: string): void
  /** What an operator must look at. */
  error(fields: object, message: string): void
}

export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} }
