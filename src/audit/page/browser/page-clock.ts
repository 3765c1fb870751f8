/** The page’s clock. It is no port: the timers of the ports let a process end, and a page is none. */

export const clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  /** Calls back once. The returned function cancels the timer. */
  after(ms: number, callback: () => void): () => void {
    const timer = setTimeout(callback, ms)
    return () => clearTimeout(timer)
  },
  every(ms: number, callback: () => void): void {
    setInterval(callback, ms)
  },
}
