/** Redis's hashes, as far as the charge store's scripts use them. Every string holds a byte in each character. */

export interface StoredHash {
  readonly fields: ReadonlyMap<string, string>
  /** Infinite where no life was set. */
  readonly expiresAtMs: number
}

interface Hash {
  readonly fields: Map<string, string>
  expiresAtMs: number
}

export class StoredHashes {
  readonly #hashes = new Map<string, Hash>()
  readonly #nowMs: () => number

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  get(name: string, field: string): string | null {
    return this.#find(name)?.fields.get(field) ?? null
  }

  fields(name: string): string[] {
    return [...(this.#find(name)?.fields.keys() ?? [])]
  }

  /** PTTL, but for a key without a life: 0, so that it gets one. */
  lifeMs(name: string): number {
    const { expiresAtMs = 0 } = this.#find(name) ?? {}
    return Number.isFinite(expiresAtMs) ? expiresAtMs - this.#nowMs() : 0
  }

  /** HSET. A key that exists keeps its life. */
  set(name: string, ...pairs: readonly (string | number)[]): void {
    const hash = this.#find(name) ?? { fields: new Map(), expiresAtMs: Number.POSITIVE_INFINITY }
    for (let at = 0; at < pairs.length; at += 2) hash.fields.set(String(pairs[at]), String(pairs[at + 1]))
    this.#hashes.set(name, hash)
  }

  drop(name: string, ...fields: readonly string[]): void {
    const hash = this.#find(name)
    for (const field of fields) hash?.fields.delete(field)
    if (hash?.fields.size === 0) this.#hashes.delete(name)
  }

  delete(name: string): void {
    this.#hashes.delete(name)
  }

  /** PEXPIRE. @throws Error for what Redis does not take for an integer. */
  expire(name: string, ms: string | number): void {
    if (!/^-?\d+$/.test(String(ms))) throw new Error('ERR value is not an integer or out of range')
    const hash = this.#find(name)
    if (!hash) return
    hash.expiresAtMs = this.#nowMs() + Number(ms)
    if (Number(ms) <= 0) this.#hashes.delete(name)
  }

  all(): ReadonlyMap<string, StoredHash> {
    for (const name of [...this.#hashes.keys()]) this.#find(name)
    return this.#hashes
  }

  /** Redis keeps a key through the very millisecond in which it expires. */
  #find(name: string): Hash | undefined {
    const hash = this.#hashes.get(name)
    if (hash === undefined || this.#nowMs() <= hash.expiresAtMs) return hash
    this.#hashes.delete(name)
    return undefined
  }
}
