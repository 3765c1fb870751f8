/**
 * Buyers of three kinds: ours, the official client, and one that uses `fetch` and the official package's signatures. Each wants
 * something once, and asks until it has it. A stranger sends again what others sent.
 */
import { randomUUID } from 'node:crypto'
import { toClientAvmSigner } from '@x402/avm'
import { ExactAvmScheme } from '@x402/avm/exact/client'
import { x402Client } from '@x402/core/client'
import { wrapFetchWithPayment } from '@x402/fetch'
import algosdk from 'algosdk'
import { Agent, fetch as undiciFetch } from 'undici'
import { SvcClient, SvcError } from '../../src/client.js'
import type { History, Sent } from './history.js'
import { paymentIn, proofOf } from './proof-of-payer.js'

export interface Market {
  readonly url: string
  readonly sandboxUrl: string
  readonly history: History
}

export type Goods = 'answer' | 'tale' | 'pass' | 'failure'

/** One wish, of one account that nobody else has. */
export interface Purchase {
  readonly id: string
  /** Asks once. Whether there is nothing left to ask. */
  ask(): Promise<boolean>
}

type Buyer = (market: Market, account: algosdk.Account, id: string, goods: Goods) => () => Promise<boolean>

const BUYERS = { ours, official, plain } satisfies Record<string, Buyer>
export type BuyerKind = keyof typeof BUYERS
export const BUYER_KINDS = Object.keys(BUYERS) as readonly BuyerKind[]

const FUNDS = '10000000'
const TIMEOUT_MS = 6_000

export async function newPurchase(market: Market, kind: BuyerKind, goods: Goods): Promise<Purchase> {
  const account = algosdk.generateAccount()
  const funds = { address: String(account.addr), usdc: FUNDS, microAlgos: 1_000_000 }
  const answer = await fetch(`${market.sandboxUrl}/sandbox/fund`, {
    method: 'POST',
    body: JSON.stringify(funds),
  })
  if (!answer.ok) throw new Error(`the faucet answered ${answer.status}: ${await answer.text()}`)
  const id = `${kind} ${goods} ${randomUUID()}`
  return { id, ask: BUYERS[kind](market, account, id, goods) }
}

const pathOf = (goods: Goods) => (goods === 'failure' ? 'answer' : goods)
const bodyOf = (goods: Goods, question: string) => ({ question, ...(goods === 'failure' && { fail: true }) })

/** From an address of loopback of its own, so that sellers tell buyers apart. */
function fetchFrom(localAddress: string): typeof fetch {
  const dispatcher = new Agent({ localAddress, pipelining: 0 })
  return (async (input: Request) => {
    const body = input.method === 'GET' ? undefined : await input.text()
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    const headers = [...input.headers] as [string, string][]
    return undiciFetch(input.url, { method: input.method, headers, body, signal, dispatcher })
  }) as unknown as typeof fetch
}

const ADDRESS_OF: Readonly<Record<BuyerKind, string>> = {
  ours: '127.0.0.2',
  official: '127.0.0.3',
  plain: '127.0.0.4',
}
const STRANGERS_ADDRESS = '127.0.0.66'

/** Our client, with one key for its wish, under caps. */
function ours({ url, sandboxUrl, history }: Market, account: algosdk.Account, id: string, goods: Goods) {
  const client = new SvcClient({
    secretKey: account.sk,
    network: 'testnet',
    algodUrl: sandboxUrl,
    maxPrice: '$1',
    maxPerDay: '$10',
    timeoutMs: TIMEOUT_MS,
    retry: { attempts: 2, baseMs: 50, maxMs: 500 },
    fetchImpl: history.recording('ours', id, fetchFrom(ADDRESS_OF.ours)),
  })
  const idempotencyKey = randomUUID()
  return async () => {
    try {
      await client.call(`${url}/${pathOf(goods)}`, bodyOf(goods, id), { idempotencyKey })
      return true
    } catch (error) {
      if (!(error instanceof SvcError)) throw error
      return goods === 'failure' && isOfHandler(error)
    }
  }
}

function isOfHandler({ detail }: SvcError): boolean {
  return JSON.stringify(detail ?? '').includes('asked_to_fail')
}

/** The official client, half of them with a key, as a header. What it lost it sends again, byte by byte. */
function official({ url, sandboxUrl, history }: Market, account: algosdk.Account, id: string, goods: Goods) {
  const scheme = schemeOf(account, sandboxUrl)
  const send = history.recording('official', id, fetchFrom(ADDRESS_OF.official))
  let paid: Request | undefined
  const recorded: typeof fetch = (input, init) => {
    const request = new Request(input, init)
    if (request.headers.has('payment-signature')) {
      paid = request.clone()
      agree(history, 'official', id, request.headers.get('payment-signature')!)
    }
    return send(request)
  }
  const pay = wrapFetchWithPayment(recorded, new x402Client().register('algorand:*', scheme))
  const key = id.charCodeAt(id.length - 1) % 2 === 0 ? randomUUID() : undefined
  return async () => {
    try {
      const answer = paid
        ? await again(send, account, paid)
        : await pay(`${url}/${pathOf(goods)}`, asked(id, goods, key))
      return isEnd(answer, goods, () => {
        paid = undefined
      })
    } catch {
      return false
    }
  }
}

/** The same bytes. Where they are said to be spent or in use, with a proof of the payer: an address alone opens no window. */
async function again(send: typeof fetch, account: algosdk.Account, paid: Request): Promise<Response> {
  const answer = await send(paid.clone())
  if (answer.status !== 409) return answer
  const proven = paid.clone()
  proven.headers.set('sign-in-with-x', proofOf(paid.url, paid.headers.get('payment-signature')!, account))
  return send(proven)
}

/** No library of x402 but its signatures: one key for its wish, the same bytes until the end is known. */
function plain({ url, sandboxUrl, history }: Market, account: algosdk.Account, id: string, goods: Goods) {
  const signer = new x402Client().register('algorand:*', schemeOf(account, sandboxUrl))
  const send = history.recording('plain', id, fetchFrom(ADDRESS_OF.plain))
  const key = randomUUID()
  let payment: string | undefined
  let window: string | undefined
  let uses = 0
  const request = (more: Record<string, string>, idempotencyKey = key) => {
    const { headers, ...rest } = asked(id, goods, idempotencyKey)
    return send(`${url}/${pathOf(goods)}`, { ...rest, headers: { ...headers, ...more } })
  }
  const use = async (): Promise<boolean> => {
    // Two more than the window has, two of them at once.
    const answers = await Promise.all(
      [0, 1].map(() => request({ 'x-svc-subscription': window! }, randomUUID())),
    )
    uses += answers.filter(({ status }) => status === 200 || status === 402).length
    return uses >= 6
  }
  return async () => {
    try {
      if (window !== undefined) return await use()
      if (payment === undefined) {
        const quote = await request({})
        if (quote.status !== 402) return false
        const challenge = JSON.parse(Buffer.from(quote.headers.get('payment-required')!, 'base64').toString())
        payment = Buffer.from(JSON.stringify(await signer.createPaymentPayload(challenge))).toString('base64')
        agree(history, 'plain', id, payment)
      }
      const answer = await request({ 'payment-signature': payment })
      window = answer.headers.get('x-svc-subscription') ?? undefined
      const isOver = await isEnd(answer, goods, () => {
        payment = undefined
      })
      return isOver && window === undefined
    } catch {
      return false
    }
  }
}

function asked(id: string, goods: Goods, key: string | undefined) {
  return {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key && { 'idempotency-key': key }) },
    body: JSON.stringify(bodyOf(goods, id)),
  }
}

/** After 402 and after a failure the seller says that nothing was charged: the next payment is a new one. */
async function isEnd(answer: Response, goods: Goods, payAnew: () => void): Promise<boolean> {
  if (answer.status === 200) return goods !== 'failure'
  // It was had once, or will never be: the checker knows which.
  if (answer.status === 409 && (await answer.clone().text()).includes('answer_not_kept')) return true
  if (answer.status === 402) payAnew()
  return (
    goods === 'failure' && answer.status === 500 && (await answer.clone().text()).includes('asked_to_fail')
  )
}

function schemeOf(account: algosdk.Account, algodUrl: string): ExactAvmScheme {
  return new ExactAvmScheme(toClientAvmSigner(Buffer.from(account.sk).toString('base64')), { algodUrl })
}

function agree(history: History, buyer: string, purchase: string, payment: string): void {
  const { accepted } = JSON.parse(Buffer.from(payment, 'base64').toString()) as {
    accepted: { amount: string }
  }
  history.add({ what: 'agreed', atMs: Date.now(), buyer, purchase, payment, amount: accepted.amount })
}

/** Sends again what a buyer sent, from another address: the payment, with no key or with one that can be guessed. */
export function stranger({ url, history }: Market) {
  return async (random: () => number): Promise<void> => {
    // What landed is on the chain, for all to read. What did not is known to the seller and its facilitator alone.
    const receipts = new Map(
      history.lines.flatMap(line => (line.what === 'got' && line.txId ? [[line.exchange, line.txId]] : [])),
    )
    const line = pick(
      history.lines.filter(
        line => line.what === 'sent' && receipts.has(line.exchange) && line.buyer !== 'stranger',
      ),
      random,
    ) as Sent
    if (line?.payment === undefined || paymentIn(line.payment).txId !== receipts.get(line.exchange)) return
    const send = history.recording('stranger', `stranger of ${line.purchase}`, fetchFrom(STRANGERS_ADDRESS))
    const headers = new Headers({
      'content-type': 'application/json',
      'payment-signature': asOnChain(line.payment),
    })
    if (random() < 0.5) headers.set('idempotency-key', random() < 0.5 ? '1' : 'order-1')
    await send(url + line.path, { method: 'POST', headers, body: line.body }).catch(() => {})
  }
}

function pick<T>(from: readonly T[], random: () => number): T | undefined {
  return from[Math.floor(random() * from.length)]
}

/** A payment as whoever reads the chain can make it up: the signed group, and terms that are public. Its identifier is not. */
function asOnChain(header: string): string {
  const { x402Version, resource, accepted, payload } = JSON.parse(Buffer.from(header, 'base64').toString())
  return Buffer.from(JSON.stringify({ x402Version, resource, accepted, payload })).toString('base64')
}
