/** An agent over real HTTP against a sandbox, with what tests need to pay it and to see what became of each call. */

import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect } from 'vitest'
import { createActor } from 'xstate'
import { algodClient } from '../../src/adapters/algorand/algod-and-indexer.js'
import { algorandPaymentSigner } from '../../src/adapters/algorand/sign-payment-group.js'
import { signingKey } from '../../src/adapters/algorand/signing-keys.js'
import { TESTNET } from '../../src/domain/network.js'
import type { PaymentPayload, PaymentRequired } from '../../src/domain/x402.js'
import {
  type AgentOptions,
  chargeMachine,
  defineAgent,
  type EndedCall,
  type EndpointDef,
  type Runs,
  type ServeOptions,
  serve,
} from '../../src/index.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { closing } from './closing.js'

export interface Seller {
  readonly sandbox: Sandbox
  readonly url: string
  readonly server: ReturnType<typeof serve>
  /** Every call that has ended, oldest first. */
  readonly ended: readonly EndedCall[]
  /** Resolves with the next call to end, from now on. */
  nextEnded(): Promise<EndedCall>
  /** Another process of the same seller, as far as one process can play it. */
  replica(options?: Partial<ServeOptions>): Promise<Seller>
  close(): Promise<void>
}

export async function openSeller(
  endpoints: readonly EndpointDef[],
  options: Partial<ServeOptions> & {
    readonly sandbox?: Sandbox
    readonly about?: Partial<AgentOptions>
  } = {},
): Promise<Seller> {
  const { sandbox = await startSandbox(), about, ...serveOptions } = options
  const agent = defineAgent({
    name: 'Test agent',
    handle: 'test-agent',
    description: 'Serves the tests.',
    payTo: sandbox.seller.address,
    network: 'testnet',
    endpoints,
    ...about,
  })
  const ended: EndedCall[] = []
  const waiting: ((call: EndedCall) => void)[] = []
  const runs: Runs = {
    list: () => [...ended].reverse(),
    ended(call) {
      ended.push(call)
      for (const resolve of waiting.splice(0)) resolve(call)
      serveOptions.stores?.runs?.ended(call)
    },
  }
  const server = serve(agent, {
    port: 0,
    host: '127.0.0.1',
    facilitatorUrl: sandbox.facilitatorUrl,
    algodUrl: sandbox.algodUrl,
    handleSignals: false,
    shutdownTimeoutMs: 100,
    onReady() {},
    onShutdown() {},
    ...serveOptions,
    stores: { ...serveOptions.stores, runs },
    // A clock of its own, so that it shares no memory with an agent of the same seller that another test has left behind.
    advanced: { clock: {}, ...serveOptions.advanced },
  })
  await once(server, 'listening')
  return {
    sandbox,
    server,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ended,
    nextEnded: () => new Promise(resolve => waiting.push(resolve)),
    replica: other => openSeller(endpoints, { ...serveOptions, ...other, about, sandbox }),
    async close() {
      server.closeAllConnections()
      await server.shutdown('test over')
      if (options.sandbox === undefined) await sandbox.close()
    },
  }
}

/** A seller for the test that is running, closed at its end. */
export async function open(...args: Parameters<typeof openSeller>): Promise<Seller> {
  return closing(await openSeller(...args))
}

export interface Ask {
  readonly method?: string
  readonly body?: unknown
  readonly headers?: Record<string, string>
  readonly signal?: AbortSignal
}

export function ask(url: string, { method = 'POST', body, headers, signal }: Ask = {}): Promise<Response> {
  return fetch(url, {
    method,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    ...(signal && { signal }),
  })
}

/** The challenge in a 402, decoded by hand: what a stranger with no library would do. */
export function challengeIn(response: Response): PaymentRequired {
  return JSON.parse(Buffer.from(response.headers.get('payment-required') ?? '', 'base64').toString())
}

export function receiptIn(response: Response): Record<string, unknown> {
  return JSON.parse(Buffer.from(response.headers.get('payment-response') ?? '', 'base64').toString())
}

export type PaymentHeader = { readonly 'payment-signature': string }

/** A payment for what the URL asks, by the account of this name; signed and not sent. */
export async function signFor(
  seller: Seller,
  url: string,
  { account, mnemonic, ...probe }: Ask & Payer = {},
): Promise<PaymentHeader> {
  const quoted = await ask(url, probe)
  expect(quoted.status).toBe(402)
  return presenting(await signQuote(seller, challengeIn(quoted), { account, mnemonic }))
}

interface Payer {
  readonly account?: string
  readonly mnemonic?: string
}

/** A payment for the first entry of a quote; signed and not sent. */
export async function signQuote(
  { sandbox }: Pick<Seller, 'sandbox'>,
  challenge: PaymentRequired,
  { account, mnemonic: own }: Payer = {},
): Promise<PaymentPayload> {
  const wallet = account === undefined ? sandbox.wallet : sandbox.accounts(account)
  const mnemonic = own ?? wallet.mnemonic
  const signer = algorandPaymentSigner({
    key: signingKey(mnemonic),
    network: TESTNET,
    // Ten times what a seller gives its node: on a busy machine somebody signs all the same.
    algod: algodClient({ url: sandbox.algodUrl, nodeTimeoutMs: 20_000 }),
  })
  const { payload } = await signer.sign(challenge, challenge.accepts[0]!)
  return payload
}

/** Signs and sends: one paid call. */
export async function pay(seller: Seller, url: string, request: Ask & { account?: string } = {}) {
  const payment = await signFor(seller, url, {
    body: request.body,
    method: request.method,
    account: request.account,
  })
  return ask(url, { ...request, headers: { ...payment, ...request.headers } })
}

/** The payment that was signed, in the clear, for whoever wants to tamper with it. */
export function signedIn({ 'payment-signature': header }: PaymentHeader) {
  return JSON.parse(Buffer.from(header, 'base64').toString())
}

/** Lands a payment of which the facilitator has said nothing (`die-before`): later than its seller waits, however slow the machine is. */
export async function landLate({ sandbox }: Pick<Seller, 'sandbox'>, payment: PaymentHeader): Promise<void> {
  sandbox.faults.clear('settle')
  const paymentPayload = signedIn(payment)
  const body = { x402Version: 2, paymentPayload, paymentRequirements: paymentPayload.accepted }
  const settled = await ask(`${sandbox.facilitatorUrl}/settle`, { body })
  // The seller's last attempt, for which nobody waited, may have come first.
  expect(await settled.text()).toMatch(/"success":true|already in ledger/)
}

/** A header that presents anything at all as a payment. */
export function presenting(payment: unknown): PaymentHeader {
  return { 'payment-signature': Buffer.from(JSON.stringify(payment)).toString('base64') }
}

/** Walks a recorded path through a live xstate actor of the drawing: the original checks the copy. */
export function replayThroughXstate(path: readonly string[]): unknown {
  const actor = createActor(chargeMachine).start()
  for (const step of path) {
    const [state, event] = step.split('.') as [string, string]
    expect(actor.getSnapshot().value).toBe(state)
    actor.send({ type: event })
  }
  expect(actor.getSnapshot().status).toBe('done')
  return actor.getSnapshot().value
}
