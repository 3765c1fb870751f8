/**
 * Loads once, when it is first used: what not every program needs should cost no program its start. A use after a failure calls
 * `load` again. Node 20 keeps a failed `import()`, so that fails again until the process is restarted.
 */
export interface LoadedOnce<T> {
  (): Promise<T>
  /** What was loaded, or is being loaded; `undefined` where nothing was used yet. For what has to be closed. */
  readonly used: Promise<T> | undefined
}

export function loadOnce<T>(load: () => Promise<T>): LoadedOnce<T> {
  let loading: Promise<T> | undefined
  const use = () => {
    loading ??= load().catch(cause => {
      loading = undefined
      throw cause
    })
    return loading
  }
  return Object.defineProperty(use, 'used', { get: () => loading }) as LoadedOnce<T>
}

/** Of those who ask the same at one time, one asks. `name` tells questions apart. */
export function sharedQuestions<T>() {
  const asked = new Map<string, Promise<T>>()
  return (ask: () => Promise<T>, name = ''): Promise<T> => {
    const known = asked.get(name)
    if (known) return known
    const answer = ask().finally(() => asked.delete(name))
    asked.set(name, answer)
    return answer
  }
}
