/** One purchase at an agent at a time, over all processes of a ledger. Its payment is in the ledger before it is sent. */
import { SdkError, SvcError, shown } from '../../domain/errors.js'
import { formatUsd, parseBaseUnits } from '../../domain/money.js'
import { readPeriodMs } from '../../domain/period.js'
import { isForWindow } from '../../domain/price-for-display.js'
import {
  BALANCE_ENDPOINT,
  BALANCE_KEY_HEADER,
  isRecord,
  memberAt,
  type PaymentRequired,
  readRequirements,
} from '../../domain/x402.js'
import { randomId } from '../../ports/random.js'
import { isKey } from './bought-subscription.js'
import { type CallOptions, type HttpRequest, requestOf } from './build-request.js'
import { noSigner, notABalance } from './client-errors.js'
import type { Settings } from './client-options.js'
import { type Buying, balanceShown, type HeldBalance } from './held-balances.js'
import { causeOf, dataOf } from './http-reply.js'
import { type PaymentSlot, purchase, type ReadyPayment } from './purchase.js'
import { challengeOf, isQuote, payableEntry } from './read-quote.js'
import { type Outcome, type TopUpResult, toldOf, type Warning } from './result-types.js'
import { askBriefly, deliver, pause, succeeded } from './send-with-retries.js'

/** Longer than a purchase takes. After it another process may finish a slow one, with the same payment. */
const LEASE_MS = 60_000
/** As long as sellers on `@svc/sdk` keep an answer that nobody has had. With a secret they keep it until the balance ends. */
const KEPT_MS = 3_600_000
/** As long as they keep one that was sent: a seller that refuses later has none. */
export const SENT_KEPT_MS = 600_000
const POLL_MS = 250
const SKEW_MAX_MS = 3_600_000

/** Where the agent at this base URL sells balances. */
export function balanceUrl({ origin, pathname }: URL): URL {
  return new URL(`${origin}${pathname.replace(/\/+$/, '')}/${BALANCE_ENDPOINT}`)
}

/** How a balance is bought. */
export type TopUpOptions = Pick<CallOptions, 'signal' | 'finishPaid'>

/** @param isEnough a call asks whether another one has bought meanwhile, or is buying and need not be waited for: then nothing is bought */
export async function buyBalance(
  agent: URL,
  amount: bigint,
  options: TopUpOptions,
  settings: Settings,
  isEnough: (isBusy?: boolean) => boolean = () => false,
): Promise<TopUpResult | undefined> {
  const { balances, clock, random, signer } = settings
  if (!signer) throw noSigner(agent.origin)
  const endMs = clock.monotonic() + LEASE_MS
  for (;;) {
    await balances.read()
    if (isEnough()) return undefined
    const begun = { token: randomId(random), untilMs: clock.now() + LEASE_MS }
    let buying: Buying = { ...begun, begunMs: clock.now(), payer: signer.address, amount: String(amount) }
    const isOurs = await balances.change(agent.href, account => {
      // Only its payer can prove itself: another wallet's stays for that one.
      const own = account.buying.find(({ payer, payment }) => payment && payer === signer.address)
      const others = account.buying.filter(each => each !== own && each.payment)
      // A longer time than is given is that of a clock which was wrong.
      const isUnderWay = ({ untilMs }: Buying) => untilMs > clock.now() && untilMs - clock.now() <= LEASE_MS
      if (account.buying.some(isUnderWay)) return undefined
      if (!own && others.some(({ begunMs }) => Math.abs(clock.now() - begunMs) < KEPT_MS)) return undefined
      buying = { ...(own ?? buying), ...begun }
      return { ...account, buying: [...others, buying] }
    })
    if (isOurs) {
      const bought = await finished(agent, buying, options, settings)
      if (bought && buying.amount === String(amount)) return bought
      continue
    }
    if (isEnough(true)) return undefined
    if (clock.monotonic() > endMs)
      throw new SdkError('Another process is buying a balance there; nothing was paid', 'balance_busy')
    await pause(clock, POLL_MS, options.signal, 'The purchase was aborted; nothing was paid')
  }
}

/** `undefined` where a purchase of long ago is over, and bought nothing. */
async function finished(
  agent: URL,
  buying: Buying,
  options: TopUpOptions,
  settings: Settings,
): Promise<TopUpResult | undefined> {
  const { balances, clock } = settings
  const units = BigInt(buying.amount)
  const amount = formatUsd(units).replace(/\.00$/, '')
  const request = { ...requestOf(agent, { amount }, options), maxPrice: units, isOwnLimit: true as const }
  /** Does nothing where another process has taken over. */
  const note = (changed: Partial<Buying> | undefined) =>
    balances.change(agent.href, account => {
      const ours = account.buying.find(({ token }) => token === buying.token)
      const others = account.buying.filter(each => each !== ours)
      return ours && { ...account, buying: changed ? [...others, { ...ours, ...changed }] : others }
    })
  const slot: PaymentSlot = {
    payment: readPayment(buying.payment, settings),
    async keep(payment) {
      if (await note({ untilMs: clock.now() + LEASE_MS, payment: written(payment) })) return
      throw new SdkError('Another process has taken over the purchase; nothing was paid', 'reservation_lost')
    },
  }
  try {
    const challenge = slot.payment ? undefined : await quoted(request, units, settings)
    const outcome = await purchase(request, challenge, {
      ...settings,
      signer: settings.signer!,
      strictResource: true,
      slot,
      deliver: (sent, payment) => deliver(settings, sent, payment),
    })
    const { held, warnings } = sold(agent, units, outcome, slot.payment!)
    const added = balances.change(agent.href, account => ({
      ...account,
      balances: [...account.balances.filter(({ key }) => key !== held.key), held],
      buying: account.buying.filter(({ token }) => token !== buying.token),
    }))
    await added.catch(cause => {
      throw notKept(agent.origin, slot.payment!, cause)
    })
    return { ...toldOf({ ...outcome, warnings }), ...balanceShown(agent.href, held) }
  } catch (error) {
    const { code, detail, status = 0 } = error instanceof SvcError ? error : { code: '', detail: {} }
    const charged = memberAt(detail, 'charged') ?? (slot.payment ? 'maybe' : 'no')
    // It began long ago, or by a clock that was ahead.
    const ageMs = Math.abs(clock.now() - buying.begunMs)
    const isOld = ageMs > KEPT_MS && status >= 400 && status < 500
    const isGone = isOld || (status === 409 && ageMs > SENT_KEPT_MS)
    // A ledger that is down keeps the purchase as it is: its time ends by itself.
    const isOver = charged === 'no' || code === 'not_a_balance' || isGone
    await note(isOver ? undefined : { untilMs: 0 }).catch(() => {})
    if (isOld) return undefined
    throw error
  }
}

async function quoted(
  request: HttpRequest,
  units: bigint,
  settings: Settings,
): Promise<PaymentRequired | undefined> {
  const { origin } = request.url
  const asked = await askBriefly(settings, request)
  if (!isQuote(asked.reply)) throw notABalance(origin, 'asks for no payment', succeeded(asked).reply)
  const challenge = challengeOf(asked.reply)
  const entry = challenge && payableEntry(challenge, settings.network)
  if (entry && (isForWindow(entry) || entry.amount !== String(units))) {
    const [asks, wanted] = [BigInt(entry.amount), units].map(formatUsd)
    const did = `asks for ${asks}, and not for a balance of ${wanted}; nothing was paid`
    throw notABalance(origin, did, asked.reply)
  }
  return challenge
}

/** The key is what was paid for. What its seller says beside it is compared with the quote, and the quote counts. */
function sold(
  { origin }: URL,
  units: bigint,
  { reply, payment, warnings }: Outcome,
  { selected, begun }: Pick<ReadyPayment, 'selected' | 'begun'>,
): { readonly held: HeldBalance; readonly warnings: readonly Warning[] } {
  const { headers } = reply
  const key = headers.get(BALANCE_KEY_HEADER)
  if (!isKey(key)) throw notABalance(origin, 'took a payment and issued no balance key', reply, payment)
  const lastsMs = readPeriodMs(selected.accepted.extra?.balancePeriod)
  const endMs = lastsMs === undefined ? undefined : begun.nowMs + lastsMs
  const saidMs = Date.parse(headers.get('x-svc-balance-expires') ?? '')
  const said = memberAt(dataOf(reply).data, 'balance')
  const wrong = [
    said !== String(units) && `it has ${shown(said)} base units, and ${units} were paid for`,
    !(saidMs > begun.nowMs) && 'it has ended already',
    endMs !== undefined && saidMs < endMs - SKEW_MAX_MS && 'it ends before the period that was quoted',
  ].filter(what => what !== false)
  const message = `${origin} says of the balance: ${wrong.join('; ')}`
  const expiresAtMs = endMs ?? (Number.isNaN(saidMs) ? undefined : saidMs)
  return {
    held: { key, left: String(units), ...(expiresAtMs !== undefined && { expiresAtMs }) },
    warnings: wrong.length === 0 ? warnings : [...warnings, { code: 'balance_mismatch', message }],
  }
}

function notKept(origin: string, { signed, selected }: ReadyPayment, cause: unknown): SvcError {
  const message = `The balance of ${origin} was bought, and the ledger did not keep it (${causeOf(cause)}); topUp asks again, and pays nothing`
  const { txId, lastValid } = signed
  const detail = { txId, amount: selected.accepted.amount, lastValid: Number(lastValid), charged: 'yes' }
  return new SdkError(message, 'reservation_lost', undefined, detail)
}

function written({ key, selected, begun, signed }: ReadyPayment): Record<string, unknown> {
  const rounds = { firstValid: `${signed.firstValid}`, lastValid: `${signed.lastValid}` }
  return { key, selected, begun, signed: { ...signed, ...rounds } }
}

/** Its reservation stays as the ledger has it: only the chain ends that. */
function readPayment(
  kept: Readonly<Record<string, unknown>> | undefined,
  { clock }: Pick<Settings, 'clock'>,
): ReadyPayment | undefined {
  const { key, selected, begun, signed } = (kept ?? {}) as unknown as ReadyPayment
  const [first, last] = [parseBaseUnits(signed?.firstValid), parseBaseUnits(signed?.lastValid)]
  const isWhole = [selected?.challenge, signed?.payload, begun].every(isRecord)
  if (!isWhole || typeof key !== 'string' || typeof signed.txId !== 'string') return undefined
  if (!readRequirements(selected.accepted) || first === undefined || last === undefined) return undefined
  const nothing = async () => {}
  return {
    key,
    selected,
    begun,
    signed: { ...signed, firstValid: first, lastValid: last },
    reservation: { attach: nothing, settle: nothing, release: nothing },
    landsUntilMs: clock.monotonic(),
  }
}
