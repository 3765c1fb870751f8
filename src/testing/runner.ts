/** What the contracts need of a test runner. Vitest's and Jest's own fit; nothing of either is loaded here. */
export interface TestRunner {
  describe(title: string, body: () => void): unknown
  it(title: string, body: () => Promise<void> | void): unknown
  readonly expect: Expect
}

export interface Expect {
  (value: unknown): Expected
  any(type: typeof Number): unknown
}

export interface Expected {
  toBe(value: unknown): void
  toEqual(value: unknown): void
  toBeTruthy(): void
  toBeFalsy(): void
  toBeGreaterThan(value: number): void
  toBeLessThan(value: number): void
  toBeLessThanOrEqual(value: number): void
  toContainEqual(value: unknown): void
  toHaveLength(length: number): void
}
