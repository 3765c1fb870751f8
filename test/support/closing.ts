import { onTestFinished } from 'vitest'

/** Closes it at the end of the test that is running: what was opened last, first. */
export function closing<T extends { close(): unknown }>(opened: T): T {
  onTestFinished(async () => {
    await opened.close()
  })
  return opened
}
