/** A seller and a buyer on a real node, and what a case has at hand. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { makePaymentTxnWithSuggestedParamsFromObject, SignedTransaction, type Transaction } from 'algosdk'
import { algodClient } from '../../../src/adapters/algorand/algod-and-indexer.js'
import { nodeClient } from '../../../src/adapters/algorand/ask-node.js'
import { algorandPaymentSigner } from '../../../src/adapters/algorand/sign-payment-group.js'
import { type SigningKey, signingKey } from '../../../src/adapters/algorand/signing-keys.js'
import { textToSign } from '../../../src/adapters/algorand/transaction-hashes.js'
import { networkFacts } from '../../../src/domain/network-definition.js'
import type { PaymentRequired } from '../../../src/domain/x402.js'
import { facilitatorNode } from '../../../src/facilitator/facilitator-node.js'
import {
  type ClientOptions,
  defineAgent,
  defineEndpoint,
  type ServeOptions,
  SvcClient,
  serve,
} from '../../../src/index.js'
import type { Localnet } from '../../../src/localnet/start-localnet.js'
import { ownParams, sendGroup } from '../../../src/wallet/send.js'

export const PRICE = 10_000n
/** Longer than ten rounds take. */
const HANDLER_TIMEOUT_MS = 60_000

export interface Selling extends Partial<ServeOptions> {
  readonly handler?: (given: { readonly signal: AbortSignal }) => unknown
}

export type Stage = Awaited<ReturnType<typeof stageOn>>

export async function stageOn(localnet: Localnet) {
  const { definition, buyer, seller, sponsor } = localnet
  const network = networkFacts(definition)
  const at = { url: definition.algodUrl!, token: definition.algodToken }
  const algod = algodClient(at)
  const node = facilitatorNode(nodeClient(at))
  const buyerKey = signingKey(buyer.mnemonic)
  const opened: (() => unknown)[] = []
  let notes = 0

  const usdcOf = async (address: string) => (await algod.assetHolding(address, definition.usdc))?.amount ?? 0n

  /** An agent of one endpoint, `/work`; how often its handler ran is in `runs`. */
  async function sell({ handler = () => ({ done: true }), ...options }: Selling = {}) {
    const seen = { runs: 0 }
    const work = defineEndpoint({
      name: 'work',
      price: '$0.01',
      timeout: HANDLER_TIMEOUT_MS,
      handler: ({ signal }) => {
        seen.runs++
        return handler({ signal })
      },
    })
    const about = { name: 'Real node', handle: 'real-node', description: 'Sells on a real node.' }
    const agent = defineAgent({ ...about, payTo: seller.address, network: definition, endpoints: [work] })
    const server = serve(agent, {
      ...{ port: 0, host: '127.0.0.1', handleSignals: false, onReady() {}, onShutdown() {} },
      ...options,
    })
    await once(server, 'listening')
    opened.push(() => server.shutdown('the case is over'))
    return { url: urlOf(server), seen }
  }

  /** Takes requests on a port of its own, for what stands between two parties. */
  async function listen(server: Server): Promise<string> {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    opened.push(() => {
      server.closeAllConnections()
      server.close()
    })
    return urlOf(server)
  }

  /** Lets the facilitator settle, and cuts the connection in place of its first answer. */
  async function forgetfulFacilitator(): Promise<string> {
    let forgets = true
    const proxy = createServer(async (request, response) => {
      let body = ''
      for await (const chunk of request) body += chunk
      const { method, url } = request
      const headers = { 'content-type': 'application/json' }
      const asked = { method, headers, ...(body !== '' && { body }) }
      const answer = await fetch(`${definition.facilitatorUrl}${url}`, asked)
      const text = await answer.text()
      if (url === '/settle' && forgets) {
        forgets = false
        return void response.destroy()
      }
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(text)
    })
    return listen(proxy)
  }

  const client = (options: Partial<ClientOptions> = {}) =>
    new SvcClient({
      mnemonic: buyer.mnemonic,
      network: definition,
      maxPrice: '$0.01',
      maxPerDay: '$1',
      ...options,
    })

  /** A header that pays what the URL asks for; not sent yet. */
  async function signed(url: string, key: SigningKey = buyerKey) {
    const quoted = await fetch(url, { method: 'POST' })
    const challenge: PaymentRequired = decoded(quoted.headers.get('payment-required')!)
    const signer = algorandPaymentSigner({ key, network, algod, paramsMaxAgeMs: 0 })
    const { payload, lastValid } = await signer.sign(challenge, challenge.accepts[0]!)
    const header = Buffer.from(JSON.stringify(payload)).toString('base64')
    return { headers: { 'payment-signature': header }, lastValid }
  }

  async function send(make: (params: ReturnType<typeof ownParams>) => Transaction, key = buyerKey) {
    const txn = make(ownParams(network, await node.lastRound()))
    const landing = await sendGroup(node, [
      new SignedTransaction({ txn, sig: key.sign(textToSign(txn.toByte())) }),
    ])
    if (landing.is !== 'landed') throw new Error(`${landing.txId}: ${JSON.stringify(landing)}`)
  }

  /** Passes rounds until this one is over. In development mode a round passes with a transaction only. */
  async function past(round: bigint): Promise<void> {
    while ((await node.lastRound()) <= round) {
      await send(suggestedParams =>
        makePaymentTxnWithSuggestedParamsFromObject({
          ...{ sender: buyer.address, receiver: buyer.address, amount: 0n, suggestedParams },
          note: Buffer.from(`${process.hrtime.bigint()} ${notes++}`),
        }),
      )
    }
  }

  return {
    ...{
      definition,
      network,
      buyer,
      seller,
      sponsor,
      sell,
      client,
      signed,
      send,
      past,
      forgetfulFacilitator,
    },
    balances: async () => ({
      buyer: await usdcOf(buyer.address),
      seller: await usdcOf(seller.address),
      sponsor: (await algod.account(sponsor.address)).microAlgos,
    }),
    async closeCase() {
      await Promise.all(opened.splice(0).map(close => close()))
    },
    close: () => Promise.all([algod.close(), node.close()]),
  }
}

function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

export function decoded<T>(header: string): T {
  return JSON.parse(Buffer.from(header, 'base64').toString())
}
