/** A network that is not one of the public ones, defined by its user: sold on, paid on, and never taken for another. */
import { ALGORAND_TESTNET_CAIP2, toClientAvmSigner } from '@x402/avm'
import { ExactAvmScheme } from '@x402/avm/exact/client'
import { x402Client } from '@x402/core/client'
import type { PaymentRequirements } from '@x402/core/types'
import { wrapFetchWithPayment } from '@x402/fetch'
import { describe, expect, it } from 'vitest'
import { algodClient } from '../../src/adapters/algorand/algod-and-indexer.js'
import { algorandPaymentSigner } from '../../src/adapters/algorand/sign-payment-group.js'
import { signingKey } from '../../src/adapters/algorand/signing-keys.js'
import { memoryChargeStore } from '../../src/adapters/memory/charge-store.js'
import { memorySubscriptions } from '../../src/adapters/memory/subscriptions.js'
import { claimName, endpointOwner, ownerOf } from '../../src/app/charge/names-in-stores.js'
import { TESTNET } from '../../src/domain/network.js'
import { networkFacts } from '../../src/domain/network-definition.js'
import {
  algodRegistry,
  defineEndpoint,
  listBazaar,
  memorySpendLedger,
  type NetworkDefinition,
  type OpenMove,
  SvcClient,
} from '../../src/index.js'
import { systemClock } from '../../src/ports/clock.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { closing } from '../support/closing.js'
import { fakeNode } from '../support/fake-node.js'
import { LOCALNET } from '../support/localnet.js'
import { secretKeyOf } from '../support/official.js'
import { ask, challengeIn, open, presenting, receiptIn, type Seller } from '../support/seller.js'

const OWN = networkFacts(LOCALNET)
const PRICE = 10_000n
const CAPS = { maxPrice: '$0.05', maxPerDay: '$1' }

let runs = 0
const work = defineEndpoint({
  name: 'work',
  price: '$0.01',
  handler: () => ({ run: ++runs }),
})
const feed = defineEndpoint({
  name: 'feed',
  subscription: { price: '$0.05', period: '1d' },
  handler: () => ({ run: ++runs }),
})

const localnet = async () => closing(await startSandbox({ network: LOCALNET }))
const testnet = async () => closing(await startSandbox())
const balances = ({ wallet, seller, balance }: Sandbox) =>
  [wallet, seller].map(({ address }) => balance(address).usdc ?? 0n)

/** Its definition alone says where node and facilitator are. */
async function openOn(sandbox: Sandbox, more: Parameters<typeof open>[1] = {}): Promise<Seller> {
  const none = { facilitatorUrl: undefined, algodUrl: undefined } as object
  const urls = sandbox.network === 'testnet' ? {} : none
  return open([work, feed], { sandbox, about: { network: sandbox.network }, ...urls, ...more })
}

/** A definition says where its node is. Testnet's would be a public one. */
const networkOf = ({ network, algodUrl }: Sandbox) =>
  network === 'testnet' ? { network, algodUrl } : { network }

const payerOn = (sandbox: Sandbox, more: object = {}) =>
  new SvcClient({ mnemonic: sandbox.wallet.mnemonic, ...networkOf(sandbox), ...CAPS, ...more })

const nameOf = (payTo: string, payer: string, key: string) =>
  claimName(endpointOwner(ownerOf(TESTNET, payTo, 'test-agent'), 'work'), ['payer', payer], key)

describe('a sandbox of a defined network', () => {
  it('is that network to its node and its facilitator', async () => {
    const sandbox = await localnet()
    const read = async (path: string) => (await fetch(sandbox.url + path)).json()
    expect(await read('/v2/transactions/params')).toMatchObject({
      'genesis-hash': LOCALNET.genesisHash,
      'genesis-id': LOCALNET.genesisId,
    })
    expect(await read('/versions')).toMatchObject({ genesis_hash_b64: LOCALNET.genesisHash })
    expect(await read('/v2/assets/1002')).toMatchObject({ index: 1002, params: { decimals: 6 } })
    expect((await fetch(`${sandbox.url}/v2/assets/${TESTNET.usdc}`)).status).toBe(404)
    const { kinds } = (await read('/supported')) as { kinds: { network: string }[] }
    expect(kinds.map(({ network }) => network)).toEqual([OWN.caip2, OWN.wholeHashId])
    expect(sandbox.network).toEqual({
      ...LOCALNET,
      algodUrl: sandbox.url,
      indexerUrl: sandbox.url,
      facilitatorUrl: sandbox.url,
    })
  })

  it.each([
    ['mainnet', 'mainnet' as never],
    ['mainnet, by its definition', { ...LOCALNET, name: 'mainnet' }],
    ['what is none', { ...LOCALNET, genesisHash: 'short' }],
  ])('is never %s', async (_, network) => {
    await expect(startSandbox({ network })).rejects.toMatchObject({ code: 'invalid_sandbox' })
  })
})

describe('on a network of one’s own', () => {
  it('a call is sold and paid, each side knowing the definition alone', async () => {
    const sandbox = await localnet()
    const { url } = await openOn(sandbox)
    const [payers, sellers] = balances(sandbox)
    const client = payerOn(sandbox)
    const { data, payment, warnings } = await client.call(`${url}/work`)
    expect(data).toEqual({ run: runs })
    expect(warnings).toBeUndefined()
    expect(payment).toMatchObject({ amount: String(PRICE), asset: '1002' })
    expect(balances(sandbox)).toEqual([payers! - PRICE, sellers! + PRICE])
    expect(sandbox.transactions().at(-1)).toMatchObject({ txId: payment!.txId, asset: 1002n })
    expect(await client.balance()).toMatchObject({ usdc: payers! - PRICE })
    const { requirements } = await client.quote(`${url}/work`)
    expect(client.priceOf(requirements)).toBe(0.01)
    expect(new SvcClient({ network: 'testnet' }).priceOf(requirements)).toBeNull()
  })

  it('what landed is proved by the chain, and an open payment is settled by its own network’s', async () => {
    const sandbox = await localnet()
    const { url } = await openOn(sandbox, { confirm: 'chain' })
    const ledger = memorySpendLedger()
    const client = payerOn(sandbox, { ledger, maxPerDay: '$0.01' })
    await client.call(`${url}/work`)
    await expect(client.call(`${url}/work`)).rejects.toMatchObject({ code: 'daily_cap_reached' })
    expect(ledger.spentBaseUnits).toBe(PRICE)
  })

  it('the quote offers both spellings of its id, the documents name it, the bazaar lists it', async () => {
    const sandbox = await localnet()
    const { url } = await openOn(sandbox)
    const { accepts } = challengeIn(await ask(`${url}/work`))
    expect(accepts.map(({ network, asset }) => [network, asset])).toEqual([
      [OWN.caip2, '1002'],
      [OWN.wholeHashId, '1002'],
    ])
    const read = async (path: string) => (await (await fetch(url + path)).json()) as Record<string, unknown>
    const x402 = {
      facilitator: sandbox.url,
      network: OWN.caip2,
      asset: { id: 1002, symbol: 'USDC', decimals: 6 },
    }
    expect(await read('/.well-known/svc.json')).toMatchObject({ network: OWN.caip2, x402 })
    const card = JSON.stringify(await read('/.well-known/agent-card.json'))
    expect(card).toContain(`"network":"${OWN.caip2}"`)
    expect(card).toContain('"asset":{"id":1002,')
    expect(JSON.stringify(await read('/openapi.json'))).toContain(`"network":"${OWN.caip2}","asset":"1002"`)
    expect(await read('/health')).toMatchObject({ network: OWN.caip2, node: 'ok' })
    const client = payerOn(sandbox)
    expect(await client.discover(url)).toMatchObject({ network: OWN.caip2 })
    await client.call(`${url}/work`)
    const { resources } = (await listBazaar({ facilitatorUrl: sandbox.url })) as never as {
      resources: { resourceUrl: string; accepts: { network: string; asset: string }[] }[]
    }
    expect(resources).toMatchObject([
      { resourceUrl: `${url}/work`, accepts: [{ network: OWN.caip2, asset: '1002' }] },
    ])
  })

  it('the official client pays, once it is told that the network is one it knows', async () => {
    const sandbox = await localnet()
    const { url } = await openOn(sandbox)
    /** It refuses ids that are not public. The node that it asks says which network is signed for. */
    class OwnNetworkScheme extends ExactAvmScheme {
      override findDefaultAsset = (asset: string) =>
        asset === '1002' ? { asset, decimals: 6, symbol: 'USDC' } : undefined

      override createPaymentPayload(version: number, requirements: PaymentRequirements) {
        return super.createPaymentPayload(version, { ...requirements, network: ALGORAND_TESTNET_CAIP2 })
      }
    }
    const signer = toClientAvmSigner(secretKeyOf(sandbox.wallet))
    const scheme = new OwnNetworkScheme(signer, { algodUrl: sandbox.url })
    const pay = wrapFetchWithPayment(fetch, new x402Client().register('algorand:*', scheme))
    const [payers, sellers] = balances(sandbox)
    const answer = await pay(`${url}/work`, { method: 'POST' })
    expect([answer.status, await answer.json()]).toEqual([200, { run: runs }])
    expect(receiptIn(answer)).toMatchObject({ success: true, network: OWN.caip2, asset: '1002' })
    expect(balances(sandbox)).toEqual([payers! - PRICE, sellers! + PRICE])
  })
})

describe('another network', () => {
  it('is refused by the payer: nothing is signed for its quote, nor with its node', async () => {
    const [own, other] = [await localnet(), await testnet()]
    const [onOwn, onOther] = [await openOn(own), await openOn(other)]
    const before = [balances(own), balances(other)]
    await expect(payerOn(own).call(`${onOther.url}/work`)).rejects.toMatchObject({
      code: 'unreadable_quote',
      message: expect.stringContaining('in USDC on localnet (it is for testnet); nothing was paid'),
    })
    const misled = payerOn(own, { algodUrl: other.url })
    await expect(misled.call(`${onOwn.url}/work`)).rejects.toMatchObject({ code: 'network_mismatch' })
    expect([balances(own), balances(other)]).toEqual(before)
  })

  it('is refused by the seller and by the facilitator, before the handler runs', async () => {
    const [own, other] = [await localnet(), await testnet()]
    const seller = await openOn(own)
    const challenge = challengeIn(await ask(`${seller.url}/work`))
    const elsewhere = { ...challenge.accepts[0]!, network: TESTNET.caip2, asset: String(TESTNET.usdc) }
    const signer = algorandPaymentSigner({
      key: signingKey(own.wallet.mnemonic),
      network: TESTNET,
      algod: algodClient({ url: other.url, nodeTimeoutMs: 20_000 }),
    })
    const { payload } = await signer.sign(challenge, elsewhere)
    const lying = { ...payload, accepted: challenge.accepts[0] }
    const before = runs
    for (const sent of [payload, lying]) {
      const refused = await ask(`${seller.url}/work`, { headers: presenting(sent) })
      expect(refused.status).toBe(402)
      expect(challengeIn(refused).accepts).toEqual(challenge.accepts)
    }
    const verdict = await fetch(`${own.url}/verify`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ x402Version: 2, paymentPayload: payload, paymentRequirements: elsewhere }),
    })
    expect(await verdict.json()).toMatchObject({
      isValid: false,
      invalidReason: 'invalid_exact_avm_network_mismatch',
    })
    expect([runs, own.transactions(), other.transactions()]).toEqual([before, [], []])
  })

  it('of a node is told by a server’s health, and nothing that it says is used', async () => {
    const [own, other] = [await localnet(), await testnet()]
    const silent = () => {}
    const opened = await new Promise<{ url: string; message: string }>((resolve, reject) => {
      const warn = (_: object, message: string) =>
        void server.then(({ url }) => resolve({ url, message }), reject)
      const logger = { debug: silent, info: silent, error: silent, warn } as never
      const server = openOn(own, { algodUrl: other.url, logger })
    })
    expect(opened.message).toContain('of another network')
    const { url } = opened
    expect(await (await fetch(`${url}/health`)).json()).toMatchObject({ node: 'wrongNetwork' })
    expect((await fetch(`${url}/ready`)).status).toBe(503)
  })

  it('shares no window and no claim, where one seller’s servers share a store', async () => {
    const [own, other] = [await localnet(), await testnet()]
    const moves: OpenMove[] = []
    const charges = memoryChargeStore({ clock: systemClock })
    const open = (move: OpenMove) => {
      moves.push(move)
      return charges.open(move)
    }
    const stores = {
      subscriptions: memorySubscriptions({ clock: systemClock }),
      charges: { ...charges, open },
    }
    const [play, real] = [
      await openOn(own, { stores, idempotency: {} }),
      await openOn(other, { stores, idempotency: {} }),
    ]
    // The same seed makes the same seller, as one address is the same on all networks.
    expect(own.seller.address).toBe(other.seller.address)
    const bought = await payerOn(own).subscribe(`${play.url}/feed`)
    const key = (bought as { key: string }).key
    for (const claimed of [key, `${OWN.caip2} ${own.seller.address}${key}`, `${OWN.caip2} ${key}`]) {
      const headers = { 'x-svc-subscription': claimed }
      expect((await ask(`${real.url}/feed`, { headers })).status, claimed).not.toBe(200)
    }
    expect((await ask(`${play.url}/feed`, { headers: { 'x-svc-subscription': key } })).status).toBe(200)
    // Of the public networks, testnet's money is play money too.
    const main = await openOn(other, { about: { network: 'mainnet' }, stores })
    const { key: tested } = (await payerOn(other).subscribe(`${real.url}/feed`)) as { key: string }
    const statuses = [real, main].map(async ({ url }) => {
      const answer = await ask(`${url}/feed`, { headers: { 'x-svc-subscription': tested } })
      return answer.status
    })
    expect(await Promise.all(statuses)).toEqual([200, 402])
    const idempotencyKey = 'one-order-of-mine-4711-and-no-other'
    const first = await payerOn(own).call(`${play.url}/work`, undefined, { idempotencyKey })
    const second = await payerOn(other).call(`${real.url}/work`, undefined, { idempotencyKey })
    expect([first.replayed, second.replayed]).toEqual([undefined, undefined])
    expect(second.data).not.toEqual(first.data)
    const { address: payTo } = other.seller
    const named = nameOf(payTo, other.wallet.address, idempotencyKey)
    expect(moves.at(-1)!.claim!.name).toBe(named)
    expect(moves.filter(({ claim }) => claim?.name === named)).toHaveLength(1)
  })
})

describe('a definition of a public network', () => {
  it('is that network: it pays and sells there, and keeps its records', async () => {
    const sandbox = await testnet()
    const { name, genesisId, genesisHash, usdc } = TESTNET
    const { algodUrl, facilitatorUrl } = sandbox
    const network = { name, genesisId, genesisHash, usdc, algodUrl, facilitatorUrl }
    const moves: OpenMove[] = []
    const charges = memoryChargeStore({ clock: systemClock })
    const open = (move: OpenMove) => {
      moves.push(move)
      return charges.open(move)
    }
    const stores = { charges: { ...charges, open } }
    const none = { algodUrl: undefined, facilitatorUrl: undefined } as object
    const { url } = await openOn(sandbox, { about: { network }, stores, idempotency: {}, ...none })
    const idempotencyKey = 'one-order-of-mine-4711-and-no-other'
    const client = new SvcClient({ mnemonic: sandbox.wallet.mnemonic, network, ...CAPS })
    await client.call(`${url}/work`, undefined, { idempotencyKey })
    const named = nameOf(sandbox.seller.address, sandbox.wallet.address, idempotencyKey)
    expect(moves.at(-1)!.claim!.name).toBe(named)
    expect(await client.discover(url)).toMatchObject({ network: 'testnet' })
  })
})

describe('a definition', () => {
  const bare: NetworkDefinition = { ...LOCALNET }
  const options = { payTo: 'HOAUXBIQXBFMV462675FJHAVEX4KYWRJWYZPFXMEDU7PGDMZOHOUGEYXSM' }

  it('without an algodUrl needs one in the options, and a server needs a facilitatorUrl', async () => {
    const of = (more: object) => open([work], { about: { network: bare, ...options }, ...more })
    const algodUrl = undefined as never
    await expect(of({ algodUrl })).rejects.toMatchObject({
      code: 'invalid_options',
      message: expect.stringContaining('no algodUrl for localnet'),
    })
    await expect(of({ facilitatorUrl: undefined as never })).rejects.toMatchObject({
      code: 'invalid_options',
      message: expect.stringContaining('no facilitatorUrl for localnet'),
    })
    expect(() => new SvcClient({ network: bare })).toThrow(
      expect.objectContaining({ code: 'invalid_options' }),
    )
    expect(() => algodRegistry({ network: bare, identityApp: 1 })).toThrow(
      expect.objectContaining({ code: 'invalid_options' }),
    )
  })

  it('that lies is refused by every door', async () => {
    const liar = { ...LOCALNET, genesisHash: TESTNET.genesisHash }
    const code = (wanted: string) => expect.objectContaining({ code: wanted })
    await expect(open([work], { about: { network: liar } })).rejects.toEqual(code('invalid_agent'))
    await expect(open([work], { network: liar })).rejects.toEqual(code('invalid_options'))
    expect(() => new SvcClient({ network: liar, algodUrl: 'http://localhost' })).toThrow(
      code('invalid_options'),
    )
    expect(() => algodRegistry({ network: liar, identityApp: 1 })).toThrow(code('invalid_options'))
  })

  it('sends its token to its own node, and to no other', async () => {
    const held = { amount: 1, 'asset-id': LOCALNET.usdc, 'is-frozen': false }
    const node = closing(await fakeNode(() => ({ amount: 1, 'min-balance': 1, 'asset-holding': held })))
    const mnemonic = (await testnet()).wallet.mnemonic
    const network = { ...LOCALNET, algodUrl: node.url, algodToken: 'its-own' }
    const asked = async (more: object) => {
      await new SvcClient({ mnemonic, network, ...CAPS, ...more }).balance()
      return new Set(node.headers.splice(0).map(headers => headers['x-algo-api-token']))
    }
    expect(await asked({})).toEqual(new Set(['its-own']))
    expect(await asked({ algodUrl: node.url })).toEqual(new Set([undefined]))
    expect(await asked({ algodUrl: node.url, algodToken: 'given' })).toEqual(new Set(['given']))
    expect(await asked({ algodToken: 'given' })).toEqual(new Set(['given']))
  })

  it('is told in no document with its token', async () => {
    const sandbox = await localnet()
    const network = { ...(sandbox.network as NetworkDefinition), algodToken: 'its-own-secret' }
    const { url } = await openOn(sandbox, { about: { network } })
    for (const path of ['/.well-known/svc.json', '/.well-known/agent-card.json', '/health', '/openapi.json'])
      expect(await (await fetch(url + path)).text()).not.toContain('its-own-secret')
  })
})
