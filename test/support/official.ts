/** The other side of the interop tests: the official x402 packages as client, as servers and as facilitator. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { getRequestListener } from '@hono/node-server'
import { toClientAvmSigner, toFacilitatorAvmSigner } from '@x402/avm'
import { ExactAvmScheme as ClientScheme } from '@x402/avm/exact/client'
import { ExactAvmScheme as FacilitatorScheme } from '@x402/avm/exact/facilitator'
import { ExactAvmScheme as ServerScheme } from '@x402/avm/exact/server'
import { x402Client, x402HTTPClient } from '@x402/core/client'
import { x402Facilitator } from '@x402/core/facilitator'
import { HTTPFacilitatorClient, type RouteConfig, x402ResourceServer } from '@x402/core/server'
import type {
  Network,
  PaymentPayload,
  PaymentRequired,
  PaymentRequirements,
  SettleResponse,
} from '@x402/core/types'
import { paymentMiddleware as expressPayments } from '@x402/express'
import { bazaarResourceServerExtension } from '@x402/extensions/bazaar'
import { wrapFetchWithPayment } from '@x402/fetch'
import { paymentMiddleware as honoPayments } from '@x402/hono'
import { seedFromMnemonic } from 'algosdk'
import express from 'express'
import { Hono } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { signingKeyFromSeed } from '../../src/adapters/algorand/signing-keys.js'
import { ALGORAND_TESTNET, TESTNET } from '../../src/domain/network.js'
import type { Sandbox, SandboxAccount } from '../../src/sandbox.js'

/** Testnet's two ids: the 32 characters of today, and the 44 that facilitators listed before. */
export const SHORT_ID: Network = ALGORAND_TESTNET as Network
export const LONG_ID: Network = `algorand:${TESTNET.genesisHash}`

/** What an official facilitator can list that any official server starts with. */
export const LISTINGS: readonly (readonly Network[])[] = [
  [SHORT_ID],
  [LONG_ID],
  [SHORT_ID, LONG_ID],
  [LONG_ID, SHORT_ID],
]

export function nameOf(id: Network): string {
  return id === SHORT_ID ? 'the 32-character id' : 'the 44-character id'
}

export interface OfficialClient {
  readonly address: string
  /** `fetch` that pays what it is asked for. */
  readonly pay: typeof fetch
  /** Every request that has left, oldest first, fresh enough to be sent once more. */
  readonly sent: readonly Request[]
}

/** The official client as its documentation sets it up; its own spending limits are on. */
export function officialClient(
  sandbox: Sandbox,
  account: SandboxAccount,
  network: Network = 'algorand:*',
): OfficialClient {
  const scheme = new ClientScheme(toClientAvmSigner(secretKeyOf(account)), { algodUrl: sandbox.algodUrl })
  const sent: Request[] = []
  const recorded: typeof fetch = (input, init) => {
    const request = new Request(input, init)
    sent.push(request.clone())
    return fetch(request)
  }
  const pay = wrapFetchWithPayment(recorded, new x402Client().register(network, scheme))
  return { address: account.address, pay: pay as typeof fetch, sent }
}

const reader = new x402HTTPClient(new x402Client())

/** The challenge and the receipt as the official client reads them. */
export function quoteIn(response: Response): PaymentRequired {
  return reader.getPaymentRequiredResponse(name => response.headers.get(name))
}

export function receiptIn(response: Response): SettleResponse & Record<string, unknown> {
  return reader.getPaymentSettleResponse(name => response.headers.get(name)) as SettleResponse &
    Record<string, unknown>
}

export async function statusIn(response: Response): Promise<string> {
  return (await reader.processResponse(response)).paymentStatus
}

export interface Asked {
  readonly path: string
  /** How the two places that name the network spelt it: the payer's `accepted` and the server's requirements. */
  readonly networks: readonly string[]
}

export interface OfficialFacilitator {
  readonly url: string
  readonly sponsor: string
  /** What it was asked after `/supported`, oldest first. */
  readonly asked: readonly Asked[]
  /** The requirements that came with each of them. */
  readonly requirements: readonly PaymentRequirements[]
  close(): Promise<void>
}

/** The official facilitator behind the few lines of REST that its documentation leaves to the reader. */
export async function officialFacilitator(
  sandbox: Sandbox,
  networks: readonly Network[] = [SHORT_ID, LONG_ID],
): Promise<OfficialFacilitator> {
  const sponsor = sandbox.accounts('official sponsor')
  const signer = toFacilitatorAvmSigner(secretKeyOf(sponsor), { testnetUrl: sandbox.algodUrl })
  const facilitator = new x402Facilitator().register([...networks], new FacilitatorScheme(signer))
  const asked: Asked[] = []
  const requirements: PaymentRequirements[] = []
  const answer = async (request: IncomingMessage) => {
    const path = request.url!
    if (path === '/supported') return facilitator.getSupported()
    const { paymentPayload, paymentRequirements } = JSON.parse(await text(request)) as Envelope
    asked.push({ path, networks: [paymentPayload.accepted.network, paymentRequirements.network] })
    requirements.push(paymentRequirements)
    return path === '/verify'
      ? facilitator.verify(paymentPayload, paymentRequirements)
      : facilitator.settle(paymentPayload, paymentRequirements)
  }
  const listening = await listen((request, response) => {
    const reply = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    answer(request).then(
      body => reply(200, body),
      error => reply(500, { error: String(error) }),
    )
  })
  return { ...listening, sponsor: sponsor.address, asked, requirements }
}

interface Envelope {
  readonly paymentPayload: PaymentPayload
  readonly paymentRequirements: PaymentRequirements
}

/** What an official server sells under one path: its work is told the request's JSON, or its query. */
export interface Sold {
  readonly price: Exclude<RouteConfig['accepts'], readonly unknown[]>['price']
  readonly extensions?: RouteConfig['extensions']
  /** Bytes as they come are sent as an event stream; by Hono only. */
  work(input: Record<string, unknown>): { readonly status?: number; readonly body: unknown }
}

export interface OfficialServerOptions {
  readonly facilitatorUrl: string
  readonly payTo: string
  readonly network?: Network
  /** By method and path, such as `POST /echo`. */
  readonly routes: Readonly<Record<string, Sold>>
}

export interface OfficialServer {
  readonly url: string
  close(): Promise<void>
}

export const OFFICIAL_SERVERS = { hono: officialHono, express: officialExpress } as const
export type OfficialServerName = keyof typeof OFFICIAL_SERVERS

function officialHono(options: OfficialServerOptions): Promise<OfficialServer> {
  const app = new Hono()
  app.use(honoPayments(routesOf(options), resourceServer(options)))
  for (const [route, sold] of Object.entries(options.routes)) {
    const [method, path] = route.split(' ') as [string, string]
    app.on(method, path, async c => {
      const { status = 200, body } = sold.work(method === 'GET' ? c.req.query() : await c.req.json())
      if (body instanceof ReadableStream) return c.body(body, 200, { 'content-type': 'text/event-stream' })
      return c.json(body as object, status as ContentfulStatusCode)
    })
  }
  return listen(getRequestListener(app.fetch))
}

function officialExpress(options: OfficialServerOptions): Promise<OfficialServer> {
  const app = express()
  app.use(express.json())
  app.use(expressPayments(routesOf(options), resourceServer(options)))
  for (const [route, sold] of Object.entries(options.routes)) {
    const [method, path] = route.split(' ') as [string, string]
    app[method.toLowerCase() as 'get' | 'post'](path, (request, response) => {
      const { status = 200, body } = sold.work(method === 'GET' ? { ...request.query } : request.body)
      response.status(status).json(body)
    })
  }
  return listen(app)
}

function resourceServer({ facilitatorUrl, network = SHORT_ID }: OfficialServerOptions): x402ResourceServer {
  const facilitator = new HTTPFacilitatorClient({ url: facilitatorUrl })
  return new x402ResourceServer(facilitator)
    .register(network, new ServerScheme())
    .registerExtension(bazaarResourceServerExtension)
}

function routesOf({ routes, payTo, network = SHORT_ID }: OfficialServerOptions): Record<string, RouteConfig> {
  return Object.fromEntries(
    Object.entries(routes).map(([route, { price, extensions }]) => [
      route,
      {
        accepts: { scheme: 'exact', network, payTo, price },
        description: 'Sold by an official server.',
        mimeType: 'application/json',
        ...(extensions && { extensions }),
      },
    ]),
  )
}

async function listen(listener: RequestListener): Promise<{ url: string; close(): Promise<void> }> {
  const server: Server = createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** What the official signers take: base64 of seed and public key. */
export function secretKeyOf({ mnemonic }: SandboxAccount): string {
  const seed = seedFromMnemonic(mnemonic)
  return Buffer.concat([seed, signingKeyFromSeed(seed).publicKey]).toString('base64')
}

export interface Moved {
  /** Base units of USDC. */
  readonly paid: bigint
  readonly received: bigint
  /** Every transaction that has landed since, in order. */
  readonly landed: readonly string[]
  /** The ids of those that moved the asset. */
  readonly txIds: readonly string[]
}

/** Watches the ledger from now on; what is returned tells what has moved between this payer and the seller. */
export function watchLedger(sandbox: Sandbox, payer: string): () => Moved {
  const { seller } = sandbox
  const usdcOf = (address: string) => sandbox.balance(address).usdc ?? 0n
  const before = {
    payer: usdcOf(payer),
    seller: usdcOf(seller.address),
    count: sandbox.transactions().length,
  }
  const role = (address: string) =>
    address === payer ? 'payer' : address === seller.address ? 'seller' : 'sponsor'
  return () => {
    const landed = sandbox.transactions().slice(before.count)
    return {
      paid: before.payer - usdcOf(payer),
      received: usdcOf(seller.address) - before.seller,
      landed: landed.map(({ sender, receiver, amount }) => `${role(sender)} to ${role(receiver)}: ${amount}`),
      txIds: landed.filter(({ asset }) => asset !== null).map(({ txId }) => txId),
    }
  }
}

export const NOTHING: Moved = Object.freeze({ paid: 0n, received: 0n, landed: [], txIds: [] })

/** One sponsored group: the sponsor's zero payment to itself, and the price. */
export function onePayment(amount: bigint, txId: unknown): Moved {
  return {
    paid: amount,
    received: amount,
    landed: ['sponsor to sponsor: 0', `payer to seller: ${amount}`],
    txIds: [txId as string],
  }
}
