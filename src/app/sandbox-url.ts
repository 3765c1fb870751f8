/** The sandbox that the environment points everything at, if any; browsers have no environment. */
export function sandboxUrl(): string | undefined {
  return globalThis.process?.env?.SVC_SANDBOX || undefined
}
