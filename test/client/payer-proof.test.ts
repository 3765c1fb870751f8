/** An answer that was paid for and lost: the client proves who paid, once, and to the seller of that payment alone. */
import { mnemonicToSecretKey, signBytes, verifyBytes } from 'algosdk'
import { describe, expect, it } from 'vitest'
import { signingKey } from '../../src/adapters/algorand/signing-keys.js'
import { type Signer, SvcClient } from '../../src/client.js'
import { CAIP2 } from '../../src/domain/network.js'
import { checkProof, declaredSignIn, readProof } from '../../src/domain/sign-in-with-x.js'
import { decodeHeader, encodeHeader } from '../../src/domain/x402.js'
import {
  ANSWER,
  type Answer,
  failure,
  fastRetry,
  marketForFile,
  PRICE,
  quote,
  type Script,
  type Shop,
  txIdIn,
} from './market.js'

const market = marketForFile()
const HEADER = 'sign-in-with-x'

/** A quote that says that proofs are taken on these chains. */
function declaring(shop: Shop, extra: object = {}, chains: readonly string[] = [CAIP2.testnet]): Answer {
  return quote({
    resource: { url: 'https://agent.example/work' },
    accepts: [shop.entry({ extra: { feePayer: market.sandbox.feePayer, ...extra } })],
    extensions: { [HEADER]: declaredSignIn('https://agent.example', chains) },
  })
}

/** Takes the payment, loses the answer, and gives it to whom `opens` says. */
function losing(opens: Script, txIdOf = txIdIn): Script {
  let settled = false
  return async (seen, shop) => {
    if (!seen.payment) return declaring(shop)
    if (!settled) {
      settled = (await shop.settle(seen.payment)).success
      return 'cut'
    }
    if (seen.headers[HEADER] !== undefined) return opens(seen, shop)
    return failure(409, 'payment_spent', {}, { txId: txIdOf(seen.payment) })
  }
}

const kept: Script = seen => {
  const receipt = encodeHeader({ success: true, txId: txIdIn(seen.payment!) })
  return {
    ...ANSWER,
    headers: { ...ANSWER.headers, 'Idempotency-Replayed': 'true', 'PAYMENT-RESPONSE': receipt },
  }
}

describe('a paid answer that was lost', () => {
  it('is had by the same payment and a proof of its payer, and is marked as replayed', async () => {
    const { client, address, spent } = market.payer()
    const seller = await market.seller(losing(kept))
    const result = await client.call(`${seller.url}?day=1`, { text: 'x' })
    const [, , proving] = seller.paid()
    expect(result).toMatchObject({
      data: { done: true },
      replayed: true,
      payment: { txId: txIdIn(proving!.payment!), amount: `${PRICE}` },
      attempts: 3,
    })
    expect(result).not.toHaveProperty('sentTxId')
    expect(client.receipts.toJSON()).toMatchObject([{ status: 200, charged: 'yes' }])
    expect(spent()).toBe(PRICE)
    expect(seller.paid()).toHaveLength(3)
    const without = seller
      .paid()
      .map(({ headers: { [HEADER]: _, ...headers }, ...sent }) => ({ ...sent, headers }))
    expect(without).toEqual([without[0], without[0], without[0]])

    const { host, origin } = new URL(seller.url)
    const proof = decodeHeader(proving!.headers[HEADER]!) as Record<string, string>
    expect(Object.keys(proof).sort()).toEqual(
      [
        'address',
        'chainId',
        'domain',
        'issuedAt',
        'nonce',
        'requestId',
        'signature',
        'type',
        'uri',
        'version',
      ].sort(),
    )
    const text = [
      `${host} wants you to sign in with your Algorand account:`,
      address,
      '',
      `URI: ${origin}/work?day=1`,
      'Version: 1',
      `Chain ID: ${CAIP2.testnet.split(':')[1]}`,
      `Nonce: ${proof.nonce}`,
      `Issued At: ${proof.issuedAt}`,
      `Request ID: ${txIdIn(proving!.payment!)}`,
    ].join('\n')
    const signature = new Uint8Array(Buffer.from(proof.signature!, 'base64'))
    expect(verifyBytes(new TextEncoder().encode(text), signature, address)).toBe(true)
    const read = readProof(proving!.headers[HEADER]!)
    const payment = { txId: txIdIn(proving!.payment!), payer: address }
    expect(checkProof(read.value!, { origin, nowMs: Date.now(), payment })).toBeUndefined()
  })

  it('is a stream, too', async () => {
    const { client } = market.payer()
    const seller = await market.seller(losing(kept))
    const { body, replayed } = await client.stream(seller.url, {})
    expect(await new Response(body).json()).toEqual({ done: true })
    expect(replayed).toBe(true)
  })

  it('sells the window whose key it has', async () => {
    const { client, spent } = market.payer()
    const extra = { subscriptionPeriod: '1h' }
    const script = losing(async (seen, shop) => {
      const answer = (await kept(seen, shop)) as Exclude<Answer, string>
      return { ...answer, headers: { ...answer.headers, 'x-svc-subscription': 'key' } }
    })
    const seller = await market.seller((seen, shop) =>
      seen.payment ? script(seen, shop) : declaring(shop, extra),
    )
    expect(await client.subscribe(seller.url, {})).toMatchObject({ key: 'key', replayed: true })
    expect(spent()).toBe(PRICE)
  })

  it.each<[string, Script]>([
    ['the proof is refused', () => failure(400, 'invalid_siwx_request')],
    [
      'the payment is said to be spent again',
      seen => failure(409, 'payment_spent', {}, { txId: txIdIn(seen.payment!) }),
    ],
    ['another price is asked', (_, shop) => shop.challenge(shop.entry())],
  ])('stays lost where %s: one proof, and no second payment', async (_, opens) => {
    const { client, spent } = market.payer()
    const seller = await market.seller(losing(opens))
    await expect(client.call(seller.url, {})).rejects.toMatchObject({
      code: 'call_failed',
      status: 409,
      detail: { charged: 'yes', amount: `${PRICE}` },
    })
    expect(seller.paid().filter(({ headers }) => headers[HEADER])).toHaveLength(1)
    expect(spent()).toBe(PRICE)
  })

  it.each([
    ['no chain', []],
    ['another chain', [CAIP2.mainnet]],
  ])('of a seller whose quote declares proofs on %s is not asked for', async (_, chains) => {
    const { client } = market.payer()
    const script = losing(kept)
    const seller = await market.seller((seen, shop) =>
      seen.payment ? script(seen, shop) : declaring(shop, {}, chains),
    )
    await expect(client.call(seller.url, {})).rejects.toMatchObject({
      status: 409,
      detail: { charged: 'yes' },
    })
    expect(seller.paid().filter(({ headers }) => headers[HEADER])).toEqual([])
  })

  it('of a seller that names another payment is not asked for', async () => {
    const { client } = market.payer()
    const seller = await market.seller(losing(kept, () => 'A'.repeat(52)))
    await expect(client.call(seller.url, {})).rejects.toMatchObject({ status: 409 })
    expect(seller.paid().filter(({ headers }) => headers[HEADER])).toEqual([])
  })
})

describe('a signer of one’s own', () => {
  const outcome = async (make: (sk: Uint8Array) => object) => {
    const { address, mnemonic } = market.sandbox.accounts(`proving ${++wallets}`)
    const { sk } = mnemonicToSecretKey(mnemonic)
    const signer = { address, sign: signingKey(mnemonic).sign, ...make(sk) } as Signer
    const { algodUrl } = market.sandbox
    const client = new SvcClient({ signer, network: 'testnet', algodUrl, retry: fastRetry, timeoutMs: 2_000 })
    const seller = await market.seller(losing(kept))
    const called = await client.call(seller.url, {}).catch(error => error)
    return { called, proofs: seller.paid().filter(({ headers }) => headers[HEADER]).length }
  }
  let wallets = 0
  const LOST = { code: 'call_failed', status: 409, detail: { charged: 'yes' } }

  it('proves with algosdk’s signBytes', async () => {
    const { called, proofs } = await outcome(sk => ({
      signBytes: async (bytes: Uint8Array) => signBytes(bytes, sk),
    }))
    expect(called).toMatchObject({ data: { done: true }, replayed: true })
    expect(proofs).toBe(1)
  })

  it.each<[string, object]>([
    ['has no signBytes', {}],
    ['signs something else', { signBytes: () => new Uint8Array(64) }],
    ['answers no bytes', { signBytes: () => 'signature' }],
    ['refuses', { signBytes: () => Promise.reject(new Error('the person said no')) }],
    ['is silent', { signBytes: () => new Promise(() => {}) }],
  ])('that %s makes no proof, and the call says that it was charged', async (_, parts) => {
    const { called, proofs } = await outcome(() => parts)
    expect(called).toMatchObject(LOST)
    expect(proofs).toBe(0)
  })
})
