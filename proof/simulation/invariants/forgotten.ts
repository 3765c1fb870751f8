/**
 * What stores have forgotten, and what may be wrong because of it. A failover takes the last writes that were acknowledged; where the
 * seller waits for replicas, it takes none that money depends on. A store without persistence takes everything.
 *
 * Of what was forgotten, an answer, a key, a window or a balance may be lost, a key may be charged again under a new payment, and what runs
 * again is given away. The rest holds, with one exception: a payment is charged once and never quoted again, nobody is told "not
 * charged" of what is charged without being presented again, and nothing opens for a stranger. The exception is a primary that comes back
 * with what it alone had counted (`isRestored`).
 */
import type { Write } from '../stores/replication.js'
import type { Truth } from '../world/truth.js'

interface Loss {
  readonly atMs: number
  /** When the first write was made that was lost. */
  readonly fromMs: number
  /** Calls and payments that lost a write; `all` that there were. */
  readonly names: ReadonlySet<string> | 'all'
  /** Nothing that the seller has told depends on what was lost, but how often a window was used. */
  readonly isWaited: boolean
}

/** A call stores what it sells, records, and hears of both within so long. */
const RECORDING_MS = 10_000

export class Losses {
  readonly #truth: Pick<Truth, 'holds' | 'records' | 'windows' | 'balances' | 'askings'>
  readonly #losses: Loss[] = []
  readonly #away: { readonly sinceMs: number; readonly untilMs: number }[] = []

  constructor(truth: Pick<Truth, 'holds' | 'records' | 'windows' | 'balances' | 'askings'>) {
    this.#truth = truth
  }

  get count(): number {
    return this.#losses.length
  }

  all(atMs: number): void {
    this.#losses.push({ atMs, fromMs: 0, names: 'all', isWaited: false })
  }

  latest(atMs: number, lost: readonly Write[], isWaited: boolean): void {
    const [first] = lost
    if (!first) return
    const names = new Set(lost.flatMap(write => write.names))
    this.#losses.push({ atMs, fromMs: first.atMs, names, isWaited })
  }

  /** Whether the store lost a write of this call. */
  call(id: string): boolean {
    const { holds } = this.#truth
    return this.#losses.some(({ names, atMs }) =>
      names === 'all'
        ? holds.some(({ call, atMs: sinceMs }) => call === id && sinceMs < atMs)
        : names.has(id),
    )
  }

  /** Whether what was kept for this payment may be lost. */
  payment(txId: string): boolean {
    const { holds, records } = this.#truth
    return this.#costly.some(
      ({ names, atMs, fromMs }) =>
        (names !== 'all' && names.has(txId)) ||
        (names === 'all' && holds.some(hold => hold.txId === txId && hold.atMs < atMs)) ||
        records.some(record => record.txId === txId && isWithin(record.atMs, fromMs - RECORDING_MS, atMs)),
    )
  }

  window(key: string): boolean {
    const sold = this.#truth.windows.get(key)
    return sold !== undefined && (this.payment(sold.txId) || this.#wasUsed(({ window }) => window === key))
  }

  balance(key: string): boolean {
    const sold = this.#truth.balances.get(key)
    return sold !== undefined && (this.payment(sold.txId) || this.#wasUsed(({ balance }) => balance === key))
  }

  /** The primary that had failed over at `sinceMs` is asked again from now on. A seller that waits for replicas knows what it lost. */
  comesBack(sinceMs: number, untilMs: number, isWaited: boolean): void {
    if (!isWaited) this.#away.push({ sinceMs, untilMs })
  }

  /**
   * Whether what a call on a balance cost was counted at a primary that was away while the call was asked for again. The other
   * primary has never heard of the count, nor mostly of the balance: nobody could tell the caller of it until the first came back.
   */
  isRestored(
    countedMs: number,
    refused: { readonly atMs: number; readonly heardMs: number | undefined },
  ): boolean {
    return this.#away.some(
      ({ sinceMs, untilMs }) =>
        countedMs < sinceMs && (refused.heardMs ?? Infinity) > sinceMs && refused.atMs < untilMs,
    )
  }

  get #costly(): readonly Loss[] {
    return this.#losses.filter(({ isWaited }) => !isWaited)
  }

  /** Whether somebody waited for an answer while writes were made that were lost. */
  #wasUsed(isOn: (asking: Truth['askings'][number]) => boolean): boolean {
    const { askings } = this.#truth
    return this.#costly.some(({ atMs, fromMs }) =>
      askings.some(
        asking => isOn(asking) && asking.atMs < atMs && (asking.heardMs ?? Infinity) >= fromMs - RECORDING_MS,
      ),
    )
  }
}

function isWithin(ms: number, fromMs: number, toMs: number): boolean {
  return ms >= fromMs && ms < toMs
}
