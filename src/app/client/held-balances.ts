/** One text of the ledger, shared by the processes of a budget. No inspection of the client shows the keys. */
import { SdkError } from '../../domain/errors.js'
import { jsonIn } from '../../domain/json.js'
import { parseBaseUnits, usdNumber } from '../../domain/money.js'
import type { NetworkFacts } from '../../domain/network.js'
import { isRecord, listIn, type PaymentRequired } from '../../domain/x402.js'
import type { Clock } from '../../ports/clock.js'
import type { SpendLedger } from '../../ports/spend-ledger.js'
import { endpointOf, isKey } from './bought-subscription.js'
import { agentAt, type BalanceOffer, balanceOffer } from './read-quote.js'
import type { AgentBalance } from './result-types.js'

export interface HeldBalance {
  readonly key: string
  /** Base units: what was bought, or less, as the seller said last. */
  readonly left: string
  readonly expiresAtMs?: number
  /** A call was answered on it. */
  readonly served?: boolean
  /** Its seller took more than was agreed. */
  readonly broken?: boolean
}

/** A purchase that is under way. When its time is over, whoever buys next goes on with its payment. */
export interface Buying {
  readonly token: string
  readonly begunMs: number
  readonly untilMs: number
  readonly payer: string
  /** Base units. */
  readonly amount: string
  readonly payment?: Readonly<Record<string, unknown>>
}

interface Account {
  readonly balances: readonly HeldBalance[]
  /** One is under way at most; each of the others waits for its payer. */
  readonly buying: readonly Buying[]
  /** Endpoints and keys of calls that were paid for by themselves, the newest last: no balance pays for them again. */
  readonly alone: readonly string[]
}

/** A call whose answer may still be asked for: on which balance, or with which window; without either, it was paid for by itself. */
interface Doubt {
  readonly key?: string
  readonly offer?: BalanceOffer
  readonly begunMs?: number
  readonly window?: string
  readonly isLost?: boolean
}

export type HeldBalances = ReturnType<typeof heldBalances>

const REMEMBERED_MAX = 1_000
const CHANGES_MAX = 100
const ALONE_MAX = 200
const SHORT_MS = 10_000
/** A reader does something with what it got, and reads on. */
const READ_MS = 1_000
const TOLD_MS = 5_000
const DAY_MS = 86_400_000

/** An agent is named by the URL at which it sells balances. */
export function heldBalances(
  ledger: Pick<SpendLedger, 'balances'>,
  network: NetworkFacts,
  clock: Pick<Clock, 'now' | 'monotonic'>,
) {
  let read: { readonly text: string; readonly atMs: number } | undefined
  let written: Readonly<Record<string, unknown>> = {}
  const offers = new Map<string, BalanceOffer>()
  /** What this process heard, and when it told the ledger. */
  const heard = new Map<string, Partial<HeldBalance> & { readonly toldMs: number }>()
  const shortUntilMs = new Map<string, number>()
  const unknown = new Set<string>()
  const doubts = new Map<string, Doubt>()
  /** Calls of this process, and when each last got a part of its stream; infinite while it waits for a part, or for the answer. */
  const atWork = new Set<{ readonly key: string; readMs: number }>()
  const prefix = `${network.key} `

  const move = async (change?: { readonly before: string; readonly after: string }) => {
    const text = await ledger.balances!(change)
    if (text !== read?.text) written = recordIn(text)
    read = { text, atMs: clock.monotonic() }
    return text
  }
  const known = (balance: HeldBalance): HeldBalance => {
    const { toldMs: _, ...told } = heard.get(balance.key) ?? { toldMs: 0 }
    const isLess = told.left !== undefined && BigInt(told.left) < BigInt(balance.left)
    return { ...balance, ...told, left: isLess ? told.left! : balance.left }
  }
  const of = (name: string) =>
    accountIn(written[name])
      .balances.map(known)
      .sort((a, b) => (a.expiresAtMs ?? Infinity) - (b.expiresAtMs ?? Infinity))
  /** Changes an account in one move. `next` may be asked again; where it returns nothing, nothing changes. Whether it changed. */
  const change = async (agent: string, next: (account: Account) => Account | undefined): Promise<boolean> => {
    for (let asked = 0; asked < CHANGES_MAX; asked++) {
      const before = await move()
      const name = prefix + agent
      const account = next(accountIn(written[name]))
      if (!account) return false
      // Where its seller knows it no more, too: this machine's clock may be wrong.
      const isKept = ({ key, expiresAtMs = Infinity }: HeldBalance) =>
        !unknown.has(key) || expiresAtMs + DAY_MS > clock.now()
      // What this version cannot read is another's, and stays.
      const others = isRecord(written[name]) ? written[name] : {}
      const unread = (list: unknown, is: (each: unknown) => boolean) => listIn(list).filter(each => !is(each))
      const balances = [...unread(others.balances, isHeld), ...account.balances.filter(isKept)]
      const buying = [...unread(others.buying, isBuying), ...account.buying]
      const after = JSON.stringify({ ...written, [name]: { ...others, ...account, balances, buying } })
      if ((await move({ before, after })) === after) return true
    }
    throw new SdkError('The ledger does not take the change of a balance', 'reservation_lost')
  }

  const callOf = (url: URL, idempotencyKey: string) => `${endpointOf(url)} ${idempotencyKey}`
  /** Without a doubt, the end of the call is known. */
  const doubt = (url: URL, idempotencyKey: string, doubt?: Doubt): void =>
    remember(doubts, callOf(url, idempotencyKey), doubt)
  /** For the other processes, before a payment is sent: that it pays for this call; or that it was not charged. Whether that is new. */
  const setAlone = async (url: URL, idempotencyKey: string, isAlone: boolean): Promise<boolean> => {
    const name = callOf(url, idempotencyKey)
    const agent = offers.get(endpointOf(url))?.agent
    if (agent === undefined) return false
    return change(agent, account => {
      if (account.alone.includes(name) === isAlone) return undefined
      const others = account.alone.filter(each => each !== name)
      return { ...account, alone: [...others, ...(isAlone ? [name] : [])].slice(-ALONE_MAX) }
    })
  }
  return {
    /** As they were read last; first the one that ends first. */
    of: (agent: string): readonly HeldBalance[] => of(prefix + agent),
    list: (): AgentBalance[] =>
      Object.keys(written)
        .filter(name => name.startsWith(prefix))
        .flatMap(name => of(name).map(balance => balanceShown(name.slice(prefix.length), balance))),
    /** Reads the ledger, unless it was read within this time. */
    async read(maxAgeMs = 0): Promise<void> {
      if (!read || clock.monotonic() - read.atMs >= maxAgeMs) await move()
    },
    change,
    /** What the last quote of this endpoint offered. */
    offerAt: (url: URL): BalanceOffer | undefined => offers.get(endpointOf(url)),
    quoted(url: URL, challenge: PaymentRequired | undefined): BalanceOffer | undefined {
      const offer = balanceOffer(url, challenge, network)
      remember(offers, endpointOf(url), offer)
      return offer
    },
    heard(agent: string, key: string, told: Partial<HeldBalance>): void {
      const before = heard.get(key)
      const isLate = before === undefined || clock.monotonic() - before.toldMs > TOLD_MS
      // What a stream has cost is asked for by itself, and the process may end with it.
      const isNews = isLate || told.broken || !told.served
      heard.set(key, { ...before, ...told, toldMs: isNews ? clock.monotonic() : before!.toldMs })
      // Not awaited: the ledger is told for the other processes, and the next answer tells it anew.
      if (isNews)
        change(agent, account => ({
          ...account,
          balances: account.balances.map(balance => (balance.key === key ? known(balance) : balance)),
        })).catch(() => {})
    },
    /** A call begins on this balance. Until it is over, its seller reserves the most that it may cost. */
    begin(key: string) {
      const call = { key, readMs: Number.POSITIVE_INFINITY }
      atWork.add(call)
      return {
        reads(isWaiting: boolean) {
          call.readMs = isWaiting ? Number.POSITIVE_INFINITY : clock.monotonic()
        },
        over: () => atWork.delete(call) && shortUntilMs.delete(key),
      }
    },
    /** Whether what is reserved there may be given back by itself. Not by streams that nobody reads: their reader may wait for this call. */
    mayBeFreed(key: string): boolean {
      const own = [...atWork].filter(call => call.key === key)
      return own.length === 0 || own.some(({ readMs }) => clock.monotonic() - readMs < READ_MS)
    },
    /** Not asked again for a while, or until a call on it is over: it does not suffice, or its seller knows it no more. */
    short(key: string, isKnown = true): void {
      shortUntilMs.set(key, clock.monotonic() + SHORT_MS)
      if (!isKnown) unknown.add(key)
    },
    isShort: (key: string) => clock.monotonic() < (shortUntilMs.get(key) ?? 0),
    /** Whether some process with this ledger has paid for the call by itself, or tries to. */
    async isAlone(agent: string, url: URL, idempotencyKey: string): Promise<boolean> {
      await move()
      return accountIn(written[prefix + agent]).alone.includes(callOf(url, idempotencyKey))
    },
    setAlone,
    /** A call that was paid for by itself has ended: over, or its answer may still be asked for. Never rejects: the call has its own end. */
    async endAlone(url: URL, idempotencyKey: string, isSaid: boolean, end?: Doubt): Promise<void> {
      doubt(url, idempotencyKey, end)
      const mayBeAsked = end !== undefined
      if (mayBeAsked !== isSaid) await setAlone(url, idempotencyKey, mayBeAsked).catch(() => {})
    },
    doubtOf: (url: URL, idempotencyKey = '') => doubts.get(callOf(url, idempotencyKey)),
    doubt,
  }
}

/** Or forgets it, without a value. The oldest go first. */
function remember<T>(all: Map<string, T>, name: string, value: T | undefined): void {
  all.delete(name)
  if (value) all.set(name, value)
  if (all.size > REMEMBERED_MAX) all.delete(all.keys().next().value!)
}

/** Without its key. */
export function balanceShown(agent: string, { left, expiresAtMs }: HeldBalance): AgentBalance {
  const expiresAt = expiresAtMs === undefined ? {} : { expiresAt: expiresAtMs }
  return { agent: agentAt(agent), left, usd: usdNumber(BigInt(left)), ...expiresAt }
}

/** @throws SdkError `reservation_lost`: a text that was taken for an empty one would be replaced, and all keys in it lost */
function recordIn(text: string): Readonly<Record<string, unknown>> {
  const value = text === '' ? {} : jsonIn(text)
  if (isRecord(value)) return value
  throw new SdkError('The balances in the ledger are no JSON object; nothing was changed', 'reservation_lost')
}

/** The text of a ledger is foreign input: what cannot be read is left out. */
function accountIn(written: unknown): Account {
  const { balances, buying, alone }: Record<string, unknown> = isRecord(written) ? written : {}
  const calls = listIn(alone).filter(call => typeof call === 'string')
  return { balances: listIn(balances).filter(isHeld), alone: calls, buying: listIn(buying).filter(isBuying) }
}

function isHeld(value: unknown): value is HeldBalance {
  if (!isRecord(value) || !isKey(value.key) || parseBaseUnits(value.left) === undefined) return false
  const { expiresAtMs = 0 } = value
  return typeof expiresAtMs === 'number' && Number.isFinite(new Date(expiresAtMs).getTime())
}

function isBuying(value: unknown): value is Buying {
  if (!isRecord(value) || typeof value.token !== 'string' || !parseBaseUnits(value.amount)) return false
  const isKept = value.payment === undefined || isRecord(value.payment)
  return isKept && Number.isFinite(value.begunMs) && Number.isFinite(value.untilMs)
}
