/** The limits on spending: a price per call, an amount per 24 hours. Money is reserved before anything is signed. */
import { SdkError, type SvcError } from '../../domain/errors.js'
import { sharedQuestions } from '../../domain/load-once.js'
import { formatUsd } from '../../domain/money.js'
import type { NetworkKey } from '../../domain/network.js'
import { invalid, type Option } from '../../domain/option-checks.js'
import type { PaymentRequirements } from '../../domain/x402.js'
import { type Clock, unlessAborted, wakefulClock, withTimeout } from '../../ports/clock.js'
import type { SignedPayment } from '../../ports/payment-signer.js'
import { type Random, randomId } from '../../ports/random.js'
import type { SpendEnd, SpendLedger } from '../../ports/spend-ledger.js'
import type { HttpRequest } from './build-request.js'
import type { LateSettlements } from './late-settlements.js'

export interface Caps {
  readonly maxPrice?: bigint
  readonly maxPerDay?: bigint
}

export type SpendingLimits = ReturnType<typeof spendingLimits>

/** `maxPrice` applies in addition to the client's own, or instead of it. */
type LimitedCall = Pick<HttpRequest, 'signal' | 'maxPrice' | 'isOwnLimit'>

export interface Reservation {
  /**
   * Call it before the payment leaves this process. From here on the amount stays counted until the chain proves that the
   * payment cannot land: a seller has the signed bytes, whatever it answers.
   *
   * @throws SvcError `reservation_lost`: the payment must not leave
   */
  attach(signed: SignedPayment): Promise<void>
  /** What became of the payment. The chain is not asked about it any more. */
  settle(end: SpendEnd): Promise<void>
  /** No payment has left this process. */
  release(): Promise<void>
}

interface SpendingLimitsOptions {
  readonly ledger: SpendLedger
  readonly network: NetworkKey
  readonly caps: Caps
  readonly late: LateSettlements
  readonly random: Random
  readonly clock?: Pick<Clock, 'after'>
}

export function spendingLimits(options: SpendingLimitsOptions) {
  const { ledger, caps, late, random, network } = options
  const { maxPerDay } = caps
  const read = sumReader(ledger, network)
  read()
  const fits = (amount: string) =>
    maxPerDay === undefined || ledger.spentBaseUnits + BigInt(amount) <= maxPerDay

  const settled = (signal: AbortSignal | undefined) =>
    unlessAborted(late.settle(), signal, 'The call was aborted; nothing was paid')

  function aboveMaxPrice(accepted: PaymentRequirements, call: LimitedCall): SvcError | undefined {
    const amount = BigInt(accepted.amount)
    const broken = [call.isOwnLimit ? undefined : caps.maxPrice, call.maxPrice].find(
      maxPrice => maxPrice !== undefined && amount > maxPrice,
    )
    if (broken === undefined) return undefined
    const why = `costs ${formatUsd(amount)}, the limit is ${formatUsd(broken)}`
    return refusal(why, 'price_above_max', accepted)
  }

  function beyondTheDay(accepted: PaymentRequirements): SvcError {
    const why = `costs ${formatUsd(BigInt(accepted.amount))}, which would exceed the ${formatUsd(maxPerDay ?? 0n)} for 24 hours`
    return refusal(why, 'daily_cap_reached', accepted)
  }

  return {
    /** As far as the ledger has told this process. */
    get spent() {
      return ledger.spentBaseUnits
    },
    aboveMaxPrice,
    /** `undefined` without a cap. Nothing as long as the ledger has not told what others spent. */
    get remaining() {
      if (maxPerDay === undefined) return undefined
      if (!read()) return 0n
      const left = maxPerDay - ledger.spentBaseUnits
      return left > 0n ? left : 0n
    },
    /** Why the limits, as this process knows them, would refuse this payment. Reserves nothing. */
    async refusalOf(accepted: PaymentRequirements, call: LimitedCall = {}): Promise<SvcError | undefined> {
      const refused = aboveMaxPrice(accepted, call)
      if (refused || fits(accepted.amount)) return refused
      await settled(call.signal)
      return fits(accepted.amount) ? undefined : beyondTheDay(accepted)
    },
    async reserve(accepted: PaymentRequirements, call: LimitedCall = {}): Promise<Reservation> {
      const refused = aboveMaxPrice(accepted, call)
      if (refused) throw refused
      const spend = { id: randomId(random), amount: BigInt(accepted.amount) }
      const reserved = async () => {
        try {
          return await ledger.reserve(spend, maxPerDay)
        } catch (error) {
          // The ledger may have counted it all the same. Not awaited: the ledger is most likely down.
          void tolerated(options, () => ledger.release(spend.id))
          throw error
        }
      }
      if (!(await reserved())) {
        await settled(call.signal)
        if (!(await reserved())) throw beyondTheDay(accepted)
      }
      return reservation(options, spend.id)
    },
  }
}

/** Asks a shared ledger for its sum until it has answered once. Whether it has. */
function sumReader(ledger: SpendLedger, network: NetworkKey): () => boolean {
  let isKnown = false
  const asking = sharedQuestions<void>()
  const ask = async () => {
    // Every move of a ledger learns the sum. This one lists nothing, and changes nothing.
    const answer = ledger.due(network, 0n, 0)
    isKnown = !(answer instanceof Promise)
    await answer
    isKnown = true
  }
  return () => {
    // A ledger that is down is asked again.
    if (!isKnown) asking(ask).catch(() => {})
    return isKnown
  }
}

function reservation(options: SpendingLimitsOptions, id: string): Reservation {
  const { ledger, network } = options
  const release = () => tolerated(options, () => ledger.release(id))
  return {
    async attach({ txId, firstValid, lastValid }) {
      try {
        if (await ledger.attach(id, { network, txId, firstValid, lastValid })) return
      } catch (error) {
        await release()
        throw error
      }
      throw new SdkError('The ledger no longer holds the reservation; nothing was paid', 'reservation_lost')
    },
    settle: end => tolerated(options, () => ledger.settle(id, end)),
    release,
  }
}

/** A ledger on the network answers in 2 s, or not at all. */
const LEDGER_MAX_MS = 2_000

/** Where the ledger fails or is silent, the reservation stays counted, which is safe. An answer that was paid for is not withheld. */
async function tolerated(
  { clock = wakefulClock }: SpendingLimitsOptions,
  move: () => unknown,
): Promise<void> {
  try {
    await withTimeout(clock, LEDGER_MAX_MS, Promise.resolve(move()))
  } catch {}
}

function refusal(why: string, code: string, accepted: PaymentRequirements): SvcError {
  return new SdkError(`The call ${why}; nothing was paid`, code, 402, accepted)
}

const LEDGER_MOVES = ['reserve', 'attach', 'release', 'due', 'postpone', 'settle'] as const

/** Checked at once: a ledger without one of these would fail when a payment is signed already. */
export const ledgerOption: Option<SpendLedger | undefined> = given => {
  if (given === undefined) return undefined
  const missing = LEDGER_MOVES.filter(move => typeof (given as SpendLedger)[move] !== 'function')
  if (missing.length === 0) return given as SpendLedger
  throw invalid(`ledger has no ${missing.join(', ')}: see SpendLedger`)
}
