/**
 * The act that an episode's row of features is for: a payment for it, the payment once more, and whatever the row wants to happen
 * between them. A pair of features has met where the call got its answer, or a refusal that the rules want.
 */
import { type PaymentPayload, type SignedPayment, sleep } from '../../../src/simulation-parts.js'
import { type Factor, type Features, pairsAmong, TABLE } from '../pairs.js'
import { type EndpointName, originOf, type Work } from '../world/agents.js'
import { headerOf } from '../world/truth.js'
import type { WireReply } from '../world/wire.js'
import { proofOf, type Stage } from './acts.js'
import { asked, quotedAndSigned, taskFor } from './asking.js'
import type { DoorCall } from './doors.js'

const FACTORS = Object.keys(TABLE) as Factor[]
const OLD_MS = 3_600_000

export async function paired(stage: Stage): Promise<void> {
  const { world, buyer, act, dice } = stage
  const { features } = world.conditions
  if (!features) return
  const endpoint = endpointFor(features, dice.chance(0.5))
  const work = features.sold === 'balance' ? { amount: '$0.10' } : workFor(features, act)
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
  // Of a balance, while it is used.
  if (features.sold !== 'balance') world.seller.forget(world.fate.dice(`${act}.forgets`))
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
  if (features.sold === 'balance') {
    const bought = [first, second].map(reply => reply && headerOf(reply, 'x-svc-balance-key'))
    const balance = bought[0] ?? bought[1]
    const isMet =
      balance !== undefined ? await onBalance(stage, features, endpoint, balance) : isRekeyed(features, first)
    if (!isMet) return
  } else if (!isSold(stage, features, payment, first)) return
  const isSoldAgain = second !== undefined && headerOf(second, 'x-svc-balance-key') !== undefined
  const isWhole = isSoldAgain || isWanted(stage, second) || isOver(features, first, second)
  world.met.push(...pairsAmong(features, isWhole ? FACTORS : FACTORS.filter(factor => !LATER.has(factor))))
}

/** The endpoint of each agent that sells the same kind of window. */
const SISTERS = ['feed', 'sister/feed'] as const

/** What happens after the answer. */
const LATER: ReadonlySet<Factor> = new Set(['proof', 'stop', 'deploy', 'forgets'])

/** A call on the balance that the row bought, while its process is stopped; the call once more; and the key at another agent. */
async function onBalance(
  stage: Stage,
  features: Features,
  endpoint: EndpointName,
  balance: string,
): Promise<boolean> {
  const { world, buyer, act, dice } = stage
  const { stop, answer, agents } = features
  const work = { ...workFor(features, act), ms: dice.span(1, 5_000) }
  const of = endpoint.startsWith('sister/') ? 'sister/' : ''
  const at = `${of}${answer.includes('stream') ? 'tale' : 'work'}` as EndpointName
  const { key } = named({} as PaymentPayload, features, act)
  const call = {
    endpoint: at,
    work,
    balance,
    key,
    maxCharge: dice.pick([undefined, '20000', '10000']),
    address: buyer.address,
  }
  const place = dice.between(0, Math.max(0, world.conditions.replicas - 1))
  const stopped = async () => {
    await sleep(buyer.process.clock, dice.span(1, 8_000))
    if (stop === 'drain') world.seller.drain(place)
    if (stop === 'death') world.seller.kill(place)
  }
  const [first] = await Promise.all([asked(stage, features, call), stopped()])
  world.seller.forget(world.fate.dice(`${act}.forgets`))
  const second = await asked(stage, features, call)
  // With a key that counts, whatever the row's is.
  await asked(stage, features, { ...call, key: `random-key-on-balance-of-${act}-of-32` })
  if (agents === 'two') await asked(stage, features, { ...call, endpoint: of ? 'work' : 'sister/work' })
  // Behind a gate a broken stream is a connection that breaks.
  const isBroken = answer === 'broken stream' && world.truth.runsOn(balance).some(run => run.returned)
  return isBroken || [first, second].some(reply => isWanted(stage, reply))
}

function endpointFor({ sold, answer, agents }: Features, isSister: boolean): EndpointName {
  const name =
    sold === 'balance' ? sold : sold !== 'call' ? 'feed' : answer.includes('stream') ? 'tale' : 'work'
  return agents === 'two' && isSister ? `sister/${name}` : name
}

function workFor({ answer, charge: said }: Features, act: string): Work {
  const charge = said === 'price' ? {} : { charge: said }
  if (answer === 'small') return { act, does: 'return', ...charge }
  if (answer === 'large') return { act, does: 'much', ...charge }
  return { act, does: 'return', ...charge, tale: { ends: answer === 'stream' ? 'whole' : 'break', ms: 100 } }
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
  // Of a call on a balance that has none.
  'idempotency_key_required',
])

/** A task that failed is over, and so is one that was forgotten: whoever asks for it again hears that there is no such task. */
function isOver({ forgets }: Features, first: WireReply | undefined, again: WireReply | undefined): boolean {
  const isUnknown = again?.body.includes('"code":-32001') === true
  const mayBeLost = forgets === 'latest' || forgets === 'everything'
  return isUnknown && (mayBeLost || first?.body.includes('"payment-failed"') === true)
}

/** What this facilitator says of an account that another key signs for. */
const NOT_THE_SENDERS = /signature does not match sender/

function isRekeyed({ payer }: Features, reply: WireReply | undefined): boolean {
  return payer === 'rekeyed' && reply !== undefined && NOT_THE_SENDERS.test(reply.body)
}

function isWanted(stage: Stage, reply: WireReply | undefined): boolean {
  if (!reply) return false
  if (runIn(stage, reply) !== undefined || NOT_THE_SENDERS.test(reply.body)) return true
  const code = /\\?"code\\?":\\?"(\w+)/.exec(reply.body)?.[1]
  return WANTED.has(code) || code?.startsWith('invalid_siwx') === true
}

/** The answer came, or broke off after it was paid for. */
function isSold(
  stage: Stage,
  features: Features,
  { txId }: SignedPayment,
  reply: WireReply | undefined,
): boolean {
  const { answer, charge } = features
  if (isRekeyed(features, reply) || charge === 'wrong') return isWanted(stage, reply)
  if (answer !== 'broken stream') return reply !== undefined && runIn(stage, reply) !== undefined
  return (
    isWanted(stage, reply) ||
    stage.world.truth.calls.some(call => call.txId === txId && call.final === 'settled')
  )
}
