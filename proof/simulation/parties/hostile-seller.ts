/** A seller that wants the client's money: it keeps every signed payment, says what it likes, and submits when it likes. */

import { CAIP2, USDC_ASSET_ID } from '../../../src/client.js'
import {
  checkTransactions,
  decodeAnswerHeader,
  encodeHeader,
  X402_VERSION,
} from '../../../src/simulation-parts.js'
import type { Dice } from '../kernel/dice.js'
import { keyOf } from '../world/accounts.js'
import type { World } from '../world/world.js'
import type { Host } from './buyer.js'

export const HOSTILE_HOST = 'hostile.example'

const WAYS = [
  'free',
  'again',
  'broken',
  'replayed',
  'spent',
  'unknown',
  'working',
  'silent',
  'paid',
  'poor',
] as const
/** A payment can land for 1,000 rounds at most. */
const HOARDED_MAX_MS = 3_000_000
const PRICES = [
  '1000',
  '10000',
  '10000',
  '50000',
  '50001',
  '1000000',
  '-1',
  '0',
  '1e3',
  '99999999999999999999',
]

export function hostileSeller(world: World, dice: Dice): Host {
  const { address } = keyOf('thief')
  world.ledger.credit(address, { microAlgos: 1_000_000n, optIn: true })
  let last = 'none'

  const quoted = (error: string): Response => {
    const requirements = {
      scheme: 'exact',
      network: CAIP2.testnet,
      amount: dice.pick(PRICES),
      asset: String(USDC_ASSET_ID.testnet),
      payTo: address,
      maxTimeoutSeconds: dice.pick([1, 60, 300, 1_200, 100_000]),
      extra: dice.chance(0.8) ? { feePayer: keyOf('sponsor').address } : {},
    }
    const challenge = {
      x402Version: X402_VERSION,
      error,
      resource: { url: 'https://elsewhere.example/x' },
      accepts: [requirements],
    }
    return new Response('{}', { status: 402, headers: { 'payment-required': encodeHeader(challenge) } })
  }

  const submit = (payload: Record<string, unknown>) => {
    const verdict = checkTransactions(payload, payload.accepted, world.ledger, keyOf('sponsor'))
    if (verdict.ok && world.ledger.submit(verdict.group) === undefined)
      world.trace(`thief lands ${verdict.txId.slice(0, 6)}`)
  }

  const coded = (status: number, code: string, txId: string, retryAfter?: number): Response =>
    new Response(JSON.stringify({ error: { code, message: code, txId } }), {
      status,
      headers: retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) },
    })

  return async (_, init) => {
    const header = new Headers(init.headers as Record<string, string>).get('payment-signature')
    const payload = header === null ? undefined : decodeAnswerHeader(header)
    const way = dice.pick(WAYS)
    if (!payload) return way === 'broken' ? new Response('', { status: 500 }) : quoted('pay')
    const txId = world.truth.readIn(payload)?.txId ?? 'none'
    const times = dice.between(0, 2)
    for (let time = 0; time < times; time++)
      world.timeline.after(dice.span(1, HOARDED_MAX_MS), () => submit(payload))
    const earlier = last
    last = txId
    const receipt = (named: string) =>
      encodeHeader({ success: true, transaction: named, network: CAIP2.testnet })
    switch (way) {
      case 'free':
        return new Response('{"data":1}', { status: 200 })
      case 'again':
        return quoted('again')
      case 'broken':
        return new Response('', { status: 500 })
      case 'replayed':
        return new Response('{}', {
          status: 200,
          headers: {
            'idempotency-replayed': 'true',
            'payment-response': receipt(dice.chance(0.5) ? earlier : txId),
          },
        })
      case 'spent':
        world.truth.calledSpent.add(txId)
        return coded(409, 'payment_spent', dice.chance(0.5) ? txId : earlier)
      case 'unknown':
        return coded(503, 'settlement_unknown', txId, 1)
      case 'working':
        return coded(409, 'payment_in_use', txId, 1)
      case 'poor':
        return coded(429, 'too_many_unpaid_calls', txId, 1)
      case 'silent':
        return new Promise(() => {})
      case 'paid':
        submit(payload)
        return new Response('{"data":2}', { status: 200, headers: { 'payment-response': receipt(txId) } })
    }
  }
}
