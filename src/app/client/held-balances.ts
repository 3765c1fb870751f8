/**
 * The balances that this client takes from. They are one text of the ledger, so that the processes of a budget share them, and the purchase
 * of one. No inspection of the client shows their keys.
 */
import { SdkError } from '../../domain/errors.js'
import { jsonIn } from '../../domain/json.js'
import { parseBaseUnits, usdNumber } from '../../domain/money.js'
import type { NetworkFacts } from '../../domain/network.js'
import { isRecord, type PaymentRequired } from '../../domain/x402.js'
import type { Clock } from '../../ports/clock.js'
import type { SpendLedger } from '../../ports/spend-ledger.js'
import { type BalanceOffer, balanceOffer } from './read-quote.js'
import type { AgentBalance } from './result-types.js'
import { endpointOf, isKey } from './sold-window.js'

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
  readonly buying?: Buying | undefined
}

/** An agent is named by the URL at which it sells balances. */
export interface HeldBalances {
  /** As they were read last; first the one that ends first. */
  of(agent: string): readonly HeldBalance[]
  list(): AgentBalance[]
  /** Reads the ledger, unless it was read within this time. */
  read(maxAgeMs?: number): Promise<void>
  /** Changes an account in one move. `next` may be asked again; where it returns nothing, nothing changes. Whether it changed. */
  change(agent: string, next: (account: Account) => Account | undefined): Promise<boolean>
  /** What the last quote of this endpoint offered. */
  offerAt(url: URL): BalanceOffer | undefined
  quoted(url: URL, challenge: PaymentRequired | undefined): BalanceOffer | undefined
  heard(agent: string, key: string, told: Partial<HeldBalance>): void
  /** Not asked again for a while: the seller said that it does not suffice. */
  short(key: string): void
  isShort(key: string): boolean
  /** The balances of calls whose end is not known, by the calls' idempotency keys. */
  readonly doubts: Map<string, string>
}

const OFFERS_MAX = 1_000
const CHANGES_MAX = 100
const SHORT_MS = 10_000
const TOLD_MS = 5_000
const DAY_MS = 86_400_000

export function heldBalances(
  ledger: Pick<SpendLedger, 'balances'>,
  network: NetworkFacts,
  clock: Pick<Clock, 'now' | 'monotonic'>,
): HeldBalances {
  let read: { readonly text: string; readonly atMs: number } | undefined
  let accounts: ReadonlyMap<string, Account> = new Map()
  const offers = new Map<string, BalanceOffer>()
  /** What this process heard, and when it told the ledger. */
  const heard = new Map<string, Partial<HeldBalance> & { readonly toldMs: number }>()
  const shortUntilMs = new Map<string, number>()
  const doubts = new Map<string, string>()
  const prefix = `${network.key} `

  const move = async (change?: { readonly before: string; readonly after: string }) => {
    const text = await ledger.balances!(change)
    if (text !== read?.text) accounts = accountsIn(text)
    read = { text, atMs: clock.monotonic() }
    return text
  }
  const known = (balance: HeldBalance): HeldBalance => {
    const { toldMs: _, ...told } = heard.get(balance.key) ?? { toldMs: 0 }
    const left = [balance.left, told.left ?? balance.left].reduce((a, b) => (BigInt(a) < BigInt(b) ? a : b))
    return { ...balance, ...told, left }
  }
  const of = (name: string) =>
    (accounts.get(name)?.balances ?? [])
      .map(known)
      .sort((a, b) => (a.expiresAtMs ?? Infinity) - (b.expiresAtMs ?? Infinity))
  const change: HeldBalances['change'] = async (agent, next) => {
    for (let asked = 0; asked < CHANGES_MAX; asked++) {
      const before = await move()
      const account = next(accounts.get(prefix + agent) ?? { balances: [] })
      if (!account) return false
      // Not at its end: this machine's clock may be fast.
      const isKept = ({ expiresAtMs = Infinity }: HeldBalance) => expiresAtMs + DAY_MS > clock.now()
      const balances = account.balances.filter(isKept)
      const changed = new Map(accounts).set(prefix + agent, { ...account, balances })
      const after = JSON.stringify(Object.fromEntries(changed))
      if ((await move({ before, after })) === after) return true
    }
    throw new SdkError('The ledger does not take the change of a balance', 'reservation_lost')
  }

  return {
    of: agent => of(prefix + agent),
    list: () =>
      [...accounts.keys()]
        .filter(name => name.startsWith(prefix))
        .flatMap(name => of(name).map(balance => balanceShown(name.slice(prefix.length), balance))),
    async read(maxAgeMs = 0) {
      if (!read || clock.monotonic() - read.atMs >= maxAgeMs) await move()
    },
    change,
    offerAt: url => offers.get(endpointOf(url)),
    quoted(url, challenge) {
      const offer = balanceOffer(url, challenge, network)
      offers.delete(endpointOf(url))
      if (offer) offers.set(endpointOf(url), offer)
      if (offers.size > OFFERS_MAX) offers.delete(offers.keys().next().value!)
      return offer
    },
    heard(agent, key, told) {
      const before = heard.get(key)
      const isNews = before === undefined || told.broken || clock.monotonic() - before.toldMs > TOLD_MS
      heard.set(key, { ...before, ...told, toldMs: isNews ? clock.monotonic() : before.toldMs })
      // Not awaited: the ledger is told for the other processes, and the next answer tells it anew.
      if (isNews)
        change(agent, account => ({
          ...account,
          balances: account.balances.map(balance => (balance.key === key ? known(balance) : balance)),
        })).catch(() => {})
    },
    short: key => void shortUntilMs.set(key, clock.monotonic() + SHORT_MS),
    isShort: key => clock.monotonic() < (shortUntilMs.get(key) ?? 0),
    doubts,
  }
}

/** Without its key. */
export function balanceShown(agent: string, { left, expiresAtMs }: HeldBalance): AgentBalance {
  const expiresAt = expiresAtMs === undefined ? {} : { expiresAt: expiresAtMs }
  return { agent: agent.replace(/\/[^/]*$/, ''), left, usd: usdNumber(BigInt(left)), ...expiresAt }
}

/** The text of a ledger is foreign input: what cannot be read is left out. */
function accountsIn(text: string): ReadonlyMap<string, Account> {
  const value = jsonIn(text)
  const accounts = new Map<string, Account>()
  for (const [name, account] of Object.entries(isRecord(value) ? value : {})) {
    const { balances, buying }: Record<string, unknown> = isRecord(account) ? account : {}
    const held = (Array.isArray(balances) ? balances : []).filter(isHeld)
    accounts.set(name, { balances: held, ...(isBuying(buying) && { buying }) })
  }
  return accounts
}

function isHeld(value: unknown): value is HeldBalance {
  if (!isRecord(value) || !isKey(value.key) || parseBaseUnits(value.left) === undefined) return false
  return value.expiresAtMs === undefined || Number.isFinite(value.expiresAtMs)
}

function isBuying(value: unknown): value is Buying {
  if (!isRecord(value) || typeof value.token !== 'string' || !parseBaseUnits(value.amount)) return false
  const isKept = value.payment === undefined || isRecord(value.payment)
  return isKept && Number.isFinite(value.begunMs) && Number.isFinite(value.untilMs)
}
