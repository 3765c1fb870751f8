/** An indexer's list of landed transactions. It shares its origin with the node, whose answer is served where both have a path. */
import { stringifyJSON } from 'algosdk'
import { decodeAddress } from '../adapters/algorand/address.js'
import { toBase64 } from '../domain/bytes.js'
import type { LandedTransaction, Ledger } from './ledger.js'
import { BadRequest, get, type Reply, type Route } from './serve-http.js'

const LIMIT_DEFAULT = 1_000
const LIMIT_MAX = 10_000

type Filter = (landed: LandedTransaction) => boolean

export function indexerRoutes(ledger: Ledger): Route[] {
  return [
    get(/^\/v2\/transactions$/, ({ query }) => search(ledger, query, ledger.transactions())),
    get(/^\/v2\/transactions\/([A-Z2-7]{52})$/, ({ parts }) => one(ledger, parts[0]!)),
    get(/^\/v2\/accounts\/([^/]+)\/transactions$/, ({ parts, query }) => {
      const address = addressIn(parts[0]!)
      const own = ledger.transactions().filter(landed => involves(landed, address))
      // As in the indexer, transactions of an account come newest first.
      return search(ledger, query, own.reverse())
    }),
  ]
}

function one(ledger: Ledger, txId: string): Reply {
  const landed = ledger.landed(txId)
  if (!landed) throw new BadRequest('indexer', `no transaction found for transaction id: ${txId}`, 404)
  return answer({ 'current-round': ledger.rounds.current(), transaction: shown(ledger, landed) })
}

function search(ledger: Ledger, query: URLSearchParams, among: readonly LandedTransaction[]): Reply {
  const filters = filtersIn(query)
  const limit = Math.min(numberIn(query, 'limit') ?? LIMIT_DEFAULT, LIMIT_MAX)
  const start = numberIn(query, 'next') ?? 0
  const found = among.filter(landed => filters.every(passes => passes(landed)))
  const page = found.slice(start, start + limit)
  const end = start + page.length
  return answer({
    'current-round': ledger.rounds.current(),
    transactions: page.map(landed => shown(ledger, landed)),
    // The indexer adds a token to every page that is not empty, also to the last one.
    ...(page.length > 0 && { 'next-token': String(end) }),
  })
}

const textIn = (query: URLSearchParams, key: string) => query.get(key)!

/** By each parameter. What it makes of the query is compared with each transaction. */
const FILTERS: Readonly<Record<string, (query: URLSearchParams, key: string) => Filter>> = {
  txid: comparing(textIn, (wanted, { txId }) => txId === wanted),
  'tx-type': comparing(textIn, (wanted, { signed }) => signed.txn.type === wanted),
  address: (query, key) => inRole(addressIn(query.get(key)!), query.get('address-role')),
  'asset-id': comparing(numberIn, (wanted, { asset }) => asset === BigInt(wanted)),
  round: comparing(numberIn, (wanted, { round }) => round === BigInt(wanted)),
  'min-round': comparing(numberIn, (least, { round }) => round >= least),
  'max-round': comparing(numberIn, (most, { round }) => round <= most),
  'currency-greater-than': comparing(numberIn, (than, { amount }) => amount > than),
  'currency-less-than': comparing(numberIn, (than, { amount }) => amount < than),
  'after-time': comparing(momentIn, (time, { landedAt }) => landedAt > time),
  'before-time': comparing(momentIn, (time, { landedAt }) => landedAt < time),
  'note-prefix': (query, key) => {
    const prefix = Buffer.from(query.get(key)!, 'base64')
    return ({ signed: { txn } }) => prefix.equals((txn.note ?? new Uint8Array()).subarray(0, prefix.length))
  },
}
const NO_FILTERS: ReadonlySet<string> = new Set(['limit', 'next', 'address-role'])

function comparing<T>(
  read: (query: URLSearchParams, key: string) => T,
  passes: (wanted: NonNullable<T>, landed: LandedTransaction) => boolean,
) {
  return (query: URLSearchParams, key: string): Filter => {
    const wanted = read(query, key)!
    return landed => passes(wanted, landed)
  }
}

/** Refuses an unknown parameter, because it would be a filter that is not applied. */
function filtersIn(query: URLSearchParams): Filter[] {
  return [...query.keys()].flatMap(key => {
    if (NO_FILTERS.has(key)) return []
    if (Object.hasOwn(FILTERS, key)) return FILTERS[key]!(query, key)
    throw new BadRequest('indexer', `the sandbox's indexer does not filter by ${key}`)
  })
}

function inRole(address: string, role: string | null): Filter {
  if (role === 'sender') return ({ sender }) => sender === address
  if (role === 'receiver') return ({ receiver }) => receiver === address
  return landed => involves(landed, address)
}

function involves({ sender, receiver }: LandedTransaction, address: string): boolean {
  return sender === address || receiver === address
}

function shown({ network }: Ledger, { signed, txId, round, landedAt }: LandedTransaction) {
  const { txn, sig } = signed
  const { payment, assetTransfer } = txn
  return {
    id: txId,
    'tx-type': txn.type,
    sender: txn.sender.toString(),
    fee: txn.fee,
    'first-valid': txn.firstValid,
    'last-valid': txn.lastValid,
    'genesis-id': network.genesisId,
    'genesis-hash': network.genesisHash,
    'confirmed-round': round,
    'round-time': landedAt,
    ...(txn.note && txn.note.length > 0 && { note: toBase64(txn.note) }),
    ...(txn.group && { group: toBase64(txn.group) }),
    ...(sig && { signature: { sig: toBase64(sig) } }),
    ...(payment && {
      'payment-transaction': {
        amount: payment.amount,
        'close-amount': 0,
        receiver: payment.receiver.toString(),
        ...(payment.closeRemainderTo && { 'close-remainder-to': payment.closeRemainderTo.toString() }),
      },
    }),
    ...(assetTransfer && {
      'asset-transfer-transaction': {
        amount: assetTransfer.amount,
        'asset-id': assetTransfer.assetIndex,
        'close-amount': 0,
        receiver: assetTransfer.receiver.toString(),
        ...(assetTransfer.closeRemainderTo && { 'close-to': assetTransfer.closeRemainderTo.toString() }),
      },
    }),
  }
}

function answer(body: unknown): Reply {
  return { status: 200, type: 'application/json', body: stringifyJSON(body) }
}

function addressIn(text: string): string {
  if (decodeAddress(text)) return text
  throw new BadRequest('indexer', `unable to parse address: ${text.slice(0, 64)}`)
}

function numberIn(query: URLSearchParams, key: string): number | undefined {
  const text = query.get(key)
  if (text === null) return undefined
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new BadRequest('indexer', `${key} is a whole number`)
}

function momentIn(query: URLSearchParams, key: string): number {
  const ms = Date.parse(query.get(key)!)
  if (!Number.isNaN(ms)) return ms / 1_000
  throw new BadRequest('indexer', 'a time is RFC 3339 text')
}
