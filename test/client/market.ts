/** A sandbox, payers with money in it, and sellers that behave as a test tells them to. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll } from 'vitest'
import { algorandPaymentReader } from '../../src/adapters/algorand/read-payment.js'
import { type ClientOptions, SvcClient } from '../../src/client.js'
import { CAIP2, USDC_ASSET_ID } from '../../src/domain/network.js'
import { decodeHeader, encodeHeader, type PaymentRequirements } from '../../src/domain/x402.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'

export const PRICE = 10_000n
export const PRICE_USD = 0.01

export interface Seen {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The `PAYMENT-SIGNATURE` header. */
  readonly payment?: string
}

export type Answer =
  | {
      readonly status: number
      readonly headers?: Readonly<Record<string, string>>
      readonly body?: string | Uint8Array
    }
  /** The connection is cut without an answer. */
  | 'cut'
  | 'silence'
  /** A good head, half a body, then cut. */
  | 'torn'

export type Script = (seen: Seen, shop: Shop) => Answer | Promise<Answer>

export interface Shop {
  /** All requests so far, the current one included. */
  readonly seen: readonly Seen[]
  entry(changes?: Partial<Record<keyof PaymentRequirements, unknown>>): Record<string, unknown>
  challenge(...accepts: unknown[]): Answer
  /** Has the sandbox's facilitator settle the payment; its answer. */
  settle(payment: string): Promise<{ success: boolean; transaction: string }>
  /** Settles and delivers. */
  sell(payment: string, headers?: Readonly<Record<string, string>>): Promise<Answer>
}

export interface Seller {
  readonly url: string
  readonly seen: readonly Seen[]
  paid(): readonly Seen[]
}

export interface Market {
  readonly sandbox: Sandbox
  seller(script: Script): Promise<Seller>
  payer(options?: ClientOptions): { client: SvcClient; address: string; spent(): bigint }
}

/** Quotes, settles, delivers. */
export const honest: Script = (seen, shop) =>
  seen.payment ? shop.sell(seen.payment) : shop.challenge(shop.entry())

export const ANSWER = {
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ done: true }),
}

export const fastRetry = { attempts: 3, baseMs: 1, maxMs: 4 }

/** The transaction id of a `PAYMENT-SIGNATURE` header. */
export function txIdIn(payment: string): string {
  return algorandPaymentReader().read(decodeHeader(payment)!)!.txId
}

/** The payments that the seller got, each once. */
export function distinctPayments(seller: Seller): Set<string | undefined> {
  return new Set(seller.paid().map(({ payment }) => payment))
}

/** For the file that calls this: opened before its first test, closed after its last. */
export function marketForFile(): Market {
  let sandbox: Sandbox
  const servers: { close(): unknown; closeAllConnections(): void }[] = []
  let payers = 0
  beforeAll(async () => {
    sandbox = await startSandbox()
  })
  afterAll(async () => {
    for (const server of servers) {
      server.closeAllConnections()
      server.close()
    }
    await sandbox.close()
  })
  return {
    get sandbox() {
      return sandbox
    },
    async seller(script) {
      const seen: Seen[] = []
      const server = createServer(async (message, response) => {
        const request = await seenIn(message)
        seen.push(request)
        send(response, await script(request, shop))
      })
      await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
      servers.push(server)
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      const shop = shopOf(sandbox, url, seen)
      return { url: `${url}/work`, seen, paid: () => seen.filter(({ payment }) => payment !== undefined) }
    },
    payer(options = {}) {
      const { address, mnemonic } = sandbox.accounts(`payer ${++payers}`)
      const before = sandbox.balance(address).usdc!
      const client = new SvcClient({
        mnemonic,
        network: 'testnet',
        algodUrl: sandbox.algodUrl,
        retry: fastRetry,
        ...options,
      })
      return { client, address, spent: () => before - sandbox.balance(address).usdc! }
    },
  }
}

function shopOf(sandbox: Sandbox, url: string, seen: readonly Seen[]): Shop {
  const entry: Shop['entry'] = changes => ({
    scheme: 'exact',
    network: CAIP2.testnet,
    amount: PRICE.toString(),
    asset: String(USDC_ASSET_ID.testnet),
    payTo: sandbox.seller.address,
    maxTimeoutSeconds: 60,
    extra: { feePayer: sandbox.feePayer },
    ...changes,
  })
  const settle: Shop['settle'] = async payment => {
    const paymentPayload = decodeHeader(payment)!
    const response = await fetch(`${sandbox.facilitatorUrl}/settle`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ x402Version: 2, paymentPayload, paymentRequirements: paymentPayload.accepted }),
    })
    return (await response.json()) as { success: boolean; transaction: string }
  }
  return {
    seen,
    entry,
    settle,
    challenge: (...accepts) => quote({ resource: { url: `${url}/work` }, accepts }),
    async sell(payment, headers = {}) {
      const receipt = await settle(payment)
      if (!receipt.success) return { status: 402, headers: { 'PAYMENT-RESPONSE': encodeHeader(receipt) } }
      return {
        ...ANSWER,
        headers: { ...ANSWER.headers, 'PAYMENT-RESPONSE': encodeHeader(receipt), ...headers },
      }
    },
  }
}

/** Any challenge at all, as a 402. */
export function quote(challenge: Readonly<Record<string, unknown>>): Answer {
  return {
    status: 402,
    headers: { 'PAYMENT-REQUIRED': encodeHeader({ x402Version: 2, ...challenge }) },
    body: '{}',
  }
}

/** A 402 with this entry that `JSON.parse` reads, and that `JSON.stringify` has too small a stack for. */
export function deepQuote(entry: Readonly<Record<string, unknown>>): Answer {
  const text = JSON.stringify({ x402Version: 2, accepts: [{ ...entry, extra: { deep: '' } }] })
  return { status: 402, body: text.replace('""', '['.repeat(20_000) + ']'.repeat(20_000)) }
}

export function failure(
  status: number,
  code: string,
  headers: Readonly<Record<string, string>> = {},
  fields: Readonly<Record<string, unknown>> = {},
): Answer {
  return {
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ error: { code, message: `It is ${code}`, ...fields } }),
  }
}

async function seenIn(message: IncomingMessage): Promise<Seen> {
  const chunks: Buffer[] = []
  for await (const chunk of message as AsyncIterable<Buffer>) chunks.push(chunk)
  const headers = message.headers as Record<string, string>
  return {
    method: message.method!,
    path: message.url!,
    headers,
    body: Buffer.concat(chunks).toString('utf8'),
    payment: headers['payment-signature'],
  }
}

function send(response: ServerResponse, answer: Answer): void {
  if (answer === 'silence') return
  if (answer === 'cut') {
    response.destroy()
    return
  }
  if (answer === 'torn') {
    response.writeHead(200, { ...ANSWER.headers, 'content-length': '100' })
    response.write('{"done":', () => response.destroy())
    return
  }
  response.writeHead(answer.status, answer.headers)
  response.end(answer.body)
}
