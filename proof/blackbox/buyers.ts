/**
 * Buyers of three kinds: ours, the official client, and one that uses `fetch` and the official package's signatures. Each wants
 * something once, and asks until it has it.
 */
import { randomUUID } from 'node:crypto'
import { toClientAvmSigner } from '@x402/avm'
import { ExactAvmScheme } from '@x402/avm/exact/client'
import { x402Client } from '@x402/core/client'
import { wrapFetchWithPayment } from '@x402/fetch'
import algosdk from 'algosdk'
import { SvcClient, SvcError } from '../../src/client.js'
import { askSandbox, fetchFrom } from './fetch-from.js'
import type { History } from './history.js'
import { type Ask, BALANCE, onBalance, onWindow, workOf } from './prepaid.js'
import { proofOf } from './proof-of-payer.js'

export interface Market {
  readonly url: string
  readonly sandboxUrl: string
  readonly isRealNode: boolean
  readonly timeoutMs: number
  readonly history: History
}

export type Goods = 'answer' | 'tale' | 'pass' | 'failure' | 'balance'

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

export async function newPurchase(market: Market, kind: BuyerKind, goods: Goods): Promise<Purchase> {
  const account = algosdk.generateAccount()
  const funds = { address: String(account.addr), usdc: FUNDS, microAlgos: 1_000_000 }
  // On a real node an account opts in by itself.
  const secretKey = market.isRealNode && Buffer.from(account.sk).toString('base64')
  const answer = await askSandbox(`${market.sandboxUrl}/sandbox/fund`, {
    method: 'POST',
    body: JSON.stringify({ ...funds, ...(secretKey && { secretKey }) }),
  })
  if (!answer.ok) throw new Error(`the faucet answered ${answer.status}: ${await answer.text()}`)
  // The official client knows no balances.
  const buyer = goods === 'balance' && kind === 'official' ? 'plain' : kind
  const id = `${buyer} ${goods} ${randomUUID()}`
  return { id, ask: BUYERS[buyer](market, account, id, goods) }
}

const pathOf = (goods: string) => (goods === 'failure' ? 'answer' : goods)
const bodyOf = (goods: Goods, question: string) =>
  goods === 'balance' ? { amount: BALANCE } : { question, ...(goods === 'failure' && { fail: true }) }

const ADDRESS_OF: Readonly<Record<BuyerKind, string>> = {
  ours: '127.0.0.2',
  official: '127.0.0.3',
  plain: '127.0.0.4',
}

/** Our client, with one key for its wish, under caps. */
function ours(
  { url, sandboxUrl, history, timeoutMs }: Market,
  account: algosdk.Account,
  id: string,
  goods: Goods,
) {
  const send = history.recording('ours', id, fetchFrom(ADDRESS_OF.ours, timeoutMs))
  let balance: string | undefined
  const client = new SvcClient({
    secretKey: account.sk,
    network: 'testnet',
    algodUrl: sandboxUrl,
    maxPrice: '$1',
    maxPerDay: '$10',
    timeoutMs,
    retry: { attempts: 2, baseMs: 50, maxMs: 500 },
    fetchImpl: async (input, init) => {
      const answer = await send(input, init)
      balance ??= answer.headers.get('x-svc-balance-key') ?? undefined
      return answer
    },
  })
  const call = async (wanted: Goods | 'metered', idempotencyKey: string) => {
    const body = bodyOf(wanted === 'metered' ? 'answer' : wanted, id)
    try {
      await client.call(`${url}/${wanted === 'failure' && balance ? 'metered' : pathOf(wanted)}`, body, {
        idempotencyKey,
      })
      return 'answered'
    } catch (error) {
      if (!(error instanceof SvcError)) throw error
      if (balance !== undefined && error.code === 'balance_required') return 'over'
      return isOfHandler(error) && 'over'
    }
  }
  let use: (() => Promise<boolean>) | undefined
  const idempotencyKey = randomUUID()
  return async () => {
    if (use) return use()
    if (goods !== 'balance')
      return (await call(goods, idempotencyKey)) === (goods === 'failure' ? 'over' : 'answered')
    await client.topUp(url, BALANCE).catch(error => {
      if (!(error instanceof SvcError)) throw error
    })
    const ask = asking(send, url, id)
    if (balance) use = onBalance(ask, balance, (key, at) => call(ownWork(at), key))
    return false
  }
}

/** Our client pays for an endpoint that takes more than balances by itself, where a balance does not suffice. */
const ownWork = (call: number) =>
  (workOf(call) === 'tale' ? 'metered' : workOf(call)) as 'metered' | 'failure'

function isOfHandler({ detail }: SvcError): boolean {
  return JSON.stringify(detail ?? '').includes('asked_to_fail')
}

/** The official client, half of them with a key, as a header. What it lost it sends again, byte by byte. */
function official(
  { url, sandboxUrl, history, timeoutMs }: Market,
  account: algosdk.Account,
  id: string,
  goods: Goods,
) {
  const scheme = schemeOf(account, sandboxUrl)
  const send = history.recording('official', id, fetchFrom(ADDRESS_OF.official, timeoutMs))
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
function plain(
  { url, sandboxUrl, history, timeoutMs }: Market,
  account: algosdk.Account,
  id: string,
  goods: Goods,
) {
  const signer = new x402Client().register('algorand:*', schemeOf(account, sandboxUrl))
  const send = history.recording('plain', id, fetchFrom(ADDRESS_OF.plain, timeoutMs))
  const key = randomUUID()
  const ask = asking(send, url, id, goods)
  let payment: string | undefined
  let use: (() => Promise<boolean>) | undefined
  return async () => {
    try {
      if (use) return await use()
      if (payment === undefined) {
        const quote = await ask({}, key)
        if (quote.status !== 402) return false
        const challenge = JSON.parse(Buffer.from(quote.headers.get('payment-required')!, 'base64').toString())
        payment = Buffer.from(JSON.stringify(await signer.createPaymentPayload(challenge))).toString('base64')
        agree(history, 'plain', id, payment)
      }
      const answer = await ask({ 'payment-signature': payment }, key)
      const window = answer.headers.get('x-svc-subscription')
      const balance = answer.headers.get('x-svc-balance-key')
      if (window) use = onWindow(ask, window)
      if (balance) use = onBalance(ask, balance)
      const isOver = await isEnd(answer, goods, () => {
        payment = undefined
      })
      return isOver && !use
    } catch {
      return false
    }
  }
}

/** Requests of one wish. */
function asking(send: typeof fetch, url: string, id: string, goods: Goods = 'answer'): Ask {
  return (more, key, path = pathOf(goods), body = {}) => {
    const { headers, ...rest } = asked(id, goods, key)
    const sent = path === pathOf(goods) ? rest.body : JSON.stringify({ question: id, ...body })
    return send(`${url}/${path}`, { ...rest, body: sent, headers: { ...headers, ...more } })
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
