/**
 * Loads once, when it is first used: what not every program needs should cost no program its start. A use after a failure tries
 * again.
 */
export function whenUsed<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined
  return () => {
    loading ??= load().catch(cause => {
      loading = undefined
      throw cause
    })
    return loading
  }
}
