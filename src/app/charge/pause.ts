/** Resolves after `ms`. The timer never keeps the process alive. */
export function pause(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms).unref())
}
