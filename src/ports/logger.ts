/** The part of pino's interface that this package uses: any pino-compatible logger fits. If it throws, the error is ignored. */
export interface Logger {
  /** For details that help to find a bug. */
  debug(fields: object, message: string): void
  /** For events. */
  info(fields: object, message: string): void
  /** For problems that an operator should look at. */
  warn(fields: object, message: string): void
  /** For problems that an operator must look at. */
  error(fields: object, message: string): void
}

export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} }
