/**
 * The act that an episode's row of features is for: a payment for it, the payment once more, and whatever the row wants to happen
 * between them. A pair of features has met where the call got its answer, or a refusal that the rules want.
 */
import { decodeAnswerHeader, type PaymentPayload, type PaymentRequired } from '../../../src/domain/x402.js'
import { SvcError } from '../../../src/index.js'
import type { SignedPayment } from '../../../src/ports/payment-signer.js'
import { sleep } from '../../../src/ports/timeouts-and-aborts.js'
import { ConnectionLost } from '../kernel/network.js'
import { type Factor, type Features, pairsAmong, TABLE } from '../pairs.js'
import { type EndpointName, originOf, type Work } from '../world/agents.js'
import { headerOf } from '../world/truth.js'
import type { WireReply, WireRequest } from '../world/wire.js'
import { workRequest } from '../world/world.js'
import { proofOf, type Stage } from './acts.js'
import { type DoorCall, requestAt, taskIn } from './doors.js'
import { payerOf } from './payers.js'

const FACTORS = Object.keys(TABLE) as Factor[]
const OLD_MS = 3_600_000

export async function paired(stage: Stage): Promise<void> {
  const { world, buyer, act, dice } = stage
  const { features } = world.conditions
  if (!features) return
  const endpoint = endpointFor(features, dice.chance(0.5))
  const work = workFor(features, act)
  const payment = await quotedAndSigned(stage, features, endpoint, work)
  if (!payment) return
  const isDeployedFirst = dice.chance(0.5)
  const deploy = async () => {
    if (features.deploy !== 'none') world.seller.deploy()
    await sleep(buyer.process.clock, dice.between(1_000, 20_000))
  }
  if (isDeployedFirst) await deploy()
  const { payload, key } = named(payment.payload, features, act)
  const task = features.door === 'task' ? await taskFor(stage, endpoint, work) : undefined
  if (features.door === 'task' && task === undefined) return
  const header = Buffer.from(JSON.stringify(payload)).toString('base64')
  const call = { endpoint, work, payment: header, key, task, address: buyer.address }
  const first = await asked(stage, features, call)
  if (!isDeployedFirst) await deploy()
  if (features.stop === 'drain') world.seller.drain(dice.between(0, world.conditions.replicas - 1))
  if (features.stop === 'death') world.seller.kill(dice.between(0, world.conditions.replicas - 1))
  await sleep(buyer.process.clock, dice.between(1_000, 40_000))
  const origin = originOf(endpoint)
  const second = await askedAgain(stage, features, call, payment, origin)
  const window = first && headerOf(first, 'x-svc-subscription')
  if (window !== undefined) {
    const used = { work, window, key: undefined, address: buyer.address }
    await asked(stage, features, { ...used, endpoint })
    for (const other of ['vault', ...(features.agents === 'two' ? SISTERS : [])] as const)
      if (other !== endpoint) await asked(stage, features, { ...used, endpoint: other })
  }
  if (!isSold(stage, features, payment, first)) return
  const isWhole = isWanted(stage, second)
  world.met.push(...pairsAmong(features, isWhole ? FACTORS : FACTORS.filter(factor => !LATER.has(factor))))
}

/** The endpoint of each agent that sells the same kind of window. */
const SISTERS = ['feed', 'sister/feed'] as const

/** What happens after the answer. */
const LATER: ReadonlySet<Factor> = new Set(['proof', 'stop', 'deploy'])

function endpointFor({ sold, answer, agents }: Features, isSister: boolean): EndpointName {
  const name = sold !== 'call' ? 'feed' : answer.includes('stream') ? 'tale' : 'work'
  return agents === 'two' && isSister ? `sister/${name}` : name
}

function workFor({ answer }: Features, act: string): Work {
  if (answer === 'small') return { act, does: 'return' }
  if (answer === 'large') return { act, does: 'much' }
  return { act, does: 'return', tale: { ends: answer === 'stream' ? 'whole' : 'break', ms: 100 } }
}

export async function quotedAndSigned(
  stage: Stage,
  features: Pick<Features, 'payer'>,
  endpoint: EndpointName,
  work: Work,
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
  work: Work,
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

function named(payload: PaymentPayload, { key }: Features, act: string) {
  switch (key) {
    case 'none':
      return { payload, key: undefined }
    case 'short':
      return { payload, key: 'k' }
    case 'guessable':
      return { payload, key: `invoice-of-${act}` }
    case 'random':
      return { payload, key: `random-key-for-${act}-of-32-characters` }
    case 'identifier': {
      const id = `random-id-for-${act}-of-32-characters`
      const extensions = {
        ...(payload.extensions as object),
        'payment-identifier': { info: { required: false, id } },
      }
      return { payload: { ...payload, extensions }, key: undefined }
    }
  }
}

export async function taskFor(stage: Stage, endpoint: EndpointName, work: Work): Promise<string | undefined> {
  const { address } = stage.buyer
  const reply = await asked(stage, { door: 'task' }, { endpoint, work, address })
  return reply && taskIn(reply)
}

/** Sends it again where the answer says that this may help, or where there is none. */
function asked(
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

/** The payment once more: as it was, or with a proof. Another's is a stranger's, from elsewhere, who does not know a random key. */
async function askedAgain(
  stage: Stage,
  features: Features,
  call: DoorCall,
  payment: SignedPayment,
  origin: string,
): Promise<WireReply | undefined> {
  const { world, buyer, act } = stage
  switch (features.proof) {
    case 'none':
      return asked(stage, features, call)
    case 'right':
      return asked(stage, features, { ...call, proof: proofOf(buyer, payment, { origin }) })
    case 'old':
      return asked(stage, features, { ...call, proof: proofOf(buyer, payment, { origin, agoMs: OLD_MS }) })
    case 'another': {
      const stranger = { name: 'stranger', process: buyer.process }
      const proof = proofOf(stranger, payment, { origin })
      const { payload } = payment
      const { extensions: _, ...shown } = payload
      const known = { payment: Buffer.from(JSON.stringify(shown)).toString('base64'), task: undefined }
      const key = features.key === 'random' ? undefined : call.key
      const door = features.door === 'task' ? 'message' : features.door
      let reply: WireReply | undefined
      for (const tried of [undefined, proof]) {
        const { nowMs } = world.timeline
        reply = await asked(
          stage,
          { door },
          { ...call, ...known, key, proof: tried, address: STRANGERS_ADDRESS },
        )
        const run = reply && runIn(stage, reply)
        // Whoever presents a payment first, and pays with it, gets its answer.
        if (run && run.atMs < nowMs)
          world.truth.violated(
            'kept-for-its-owner',
            `a stranger got the answer of ${act} for ${payment.txId}`,
          )
      }
      return reply
    }
  }
}

export const STRANGERS_ADDRESS = '10.9.9.9'

export function runIn({ world }: Stage, { status, body }: WireReply) {
  if (status >= 400) return undefined
  return world.truth.handlerRuns[Number(/\\?"run\\?":(\d+)/.exec(body)?.[1]) - 1]
}

/** What the rules want of a payment that has had its answer, or of one whose proof is no proof. */
const WANTED: ReadonlySet<string | undefined> = new Set([
  'payment_spent',
  'answer_not_kept',
  'idempotency_key_reused',
  'handler_error',
  'stream_broken',
])

/** What this facilitator says of an account that another key signs for. */
const NOT_THE_SENDERS = /signature does not match sender/

function isWanted(stage: Stage, reply: WireReply | undefined): boolean {
  if (!reply) return false
  if (runIn(stage, reply) !== undefined || NOT_THE_SENDERS.test(reply.body)) return true
  const code = /\\?"code\\?":\\?"(\w+)/.exec(reply.body)?.[1]
  return WANTED.has(code) || code?.startsWith('invalid_siwx') === true
}

/** The answer came, or broke off after it was paid for. */
function isSold(
  stage: Stage,
  { answer, payer }: Features,
  { txId }: SignedPayment,
  reply: WireReply | undefined,
): boolean {
  if (payer === 'rekeyed') return isWanted(stage, reply)
  if (answer !== 'broken stream') return reply !== undefined && runIn(stage, reply) !== undefined
  return (
    isWanted(stage, reply) ||
    stage.world.truth.calls.some(call => call.txId === txId && call.final === 'settled')
  )
}
