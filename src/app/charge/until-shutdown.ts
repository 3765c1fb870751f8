import type { Stop } from './charge-deps.js'

/** The work's result, or `cut` as soon as the server stops waiting for its calls. The work continues. */
export function untilShutdown<T>(stop: Stop, work: Promise<T>, cut: T): Promise<T> {
  if (stop.cutting()) return Promise.resolve(cut)
  return new Promise((resolve, reject) => {
    const stopListening = stop.onCut(() => resolve(cut))
    work.then(resolve, reject).finally(stopListening)
  })
}
