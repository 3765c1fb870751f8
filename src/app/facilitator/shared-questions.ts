/** Of those who ask the same at one time, one asks. */
export function sharedQuestions<T>() {
  const asked = new Map<string, Promise<T>>()
  return (name: string, ask: () => Promise<T>): Promise<T> => {
    const known = asked.get(name)
    if (known) return known
    const answer = ask().finally(() => asked.delete(name))
    asked.set(name, answer)
    return answer
  }
}
