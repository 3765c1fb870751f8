/** How acts ask by hand: for a quote and a payment for it, for a task, and again where an answer says that this may help. */

import type { PaymentRequired } from '../../../src/client.js'
import { SvcError } from '../../../src/index.js'
import { decodeAnswerHeader, type SignedPayment, sleep } from '../../../src/simulation-parts.js'
import { ConnectionLost } from '../kernel/network.js'
import type { Features } from '../pairs.js'
import type { EndpointName, Purchase, Work } from '../world/agents.js'
import { headerOf } from '../world/truth.js'
import type { WireReply, WireRequest } from '../world/wire.js'
import { workRequest } from '../world/world.js'
import type { Stage } from './acts.js'
import { type DoorCall, requestAt, taskIn } from './doors.js'
import { payerOf } from './payers.js'

export async function quotedAndSigned(
  stage: Stage,
  features: Pick<Features, 'payer'>,
  endpoint: EndpointName,
  work: Work | Purchase,
): Promise<SignedPayment | undefined> {
  for (let time = 0; time < TIMES_MAX; time++) {
    const payment = await signedOnce(stage, features, endpoint, work)
    if (payment) return payment
    await sleep(stage.buyer.process.clock, AGAIN_MS)
  }
  return undefined
}

async function signedOnce(
  { world, buyer, act }: Stage,
  { payer }: Pick<Features, 'payer'>,
  endpoint: EndpointName,
  work: Work | Purchase,
): Promise<SignedPayment | undefined> {
  try {
    const quoted = await world.http(buyer.process, act, workRequest(endpoint, work, {}, buyer.address))
    const challenge = decodeAnswerHeader(headerOf(quoted, 'payment-required') ?? '') as unknown as
      | PaymentRequired
      | undefined
    const accepted = challenge?.accepts?.[0]
    return challenge && accepted && (await payerOf(world, buyer, payer).sign(challenge, accepted))
  } catch (error) {
    if (error instanceof ConnectionLost || error instanceof SvcError) return undefined
    throw error
  }
}

/** As the header has it. */
export function encodedOf({ payload }: SignedPayment): string {
  return Buffer.from(JSON.stringify(payload)).toString('base64')
}

export async function taskFor(
  stage: Stage,
  endpoint: EndpointName,
  work: Work | Purchase,
): Promise<string | undefined> {
  const { address } = stage.buyer
  const reply = await asked(stage, { door: 'task' }, { endpoint, work, address })
  return reply && taskIn(reply)
}

/** Sends it again where the answer says that this may help, or where there is none. */
export function asked(
  stage: Stage,
  { door }: Pick<Features, 'door'>,
  call: DoorCall,
): Promise<WireReply | undefined> {
  return askedFor(stage, requestAt(door, call))
}

export async function askedFor(
  { world, buyer, act }: Stage,
  request: WireRequest,
): Promise<WireReply | undefined> {
  let reply: WireReply | undefined
  for (let time = 0; time < TIMES_MAX; time++) {
    if (time > 0) await sleep(buyer.process.clock, AGAIN_MS)
    try {
      reply = await world.http(buyer.process, act, request)
      if (!PASSING.test(reply.body)) return reply
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error
    }
  }
  return reply
}

const TIMES_MAX = 4
const AGAIN_MS = 12_000
/** Codes of what passes. */
const PASSING =
  /"(shutting_down|store_unavailable|facilitator_unavailable|rate_limited|too_many_unpaid_calls|payment_in_use|idempotency_in_progress|settlement_unknown)"/
