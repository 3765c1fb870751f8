/**
 * What strangers and odd owners do with what is another's: its key elsewhere, its name, its task, its window; and what owners do
 * whose client dies, or whose seller changes between reading and paying. One act, of several, rolled from its name.
 */

import { sleep } from '../../../src/simulation-parts.js'
import { promisedMode } from '../conditions.js'
import { withinCap } from '../invariants/spending.js'
import type { Features } from '../pairs.js'
import { keyOf } from '../world/accounts.js'
import type { EndpointName, Work } from '../world/agents.js'
import { headerOf } from '../world/truth.js'
import type { WireReply } from '../world/wire.js'
import { workRequest } from '../world/world.js'
import { type Act, expected, type Stage, workOf } from './acts.js'
import { askedFor, encodedOf, quotedAndSigned, taskFor } from './asking.js'
import { bridged } from './bridged.js'
import { Buyer } from './buyer.js'
import { type DoorCall, requestAt } from './doors.js'
import { runIn, STRANGERS_ADDRESS } from './paired.js'

const PLAIN = { payer: 'plain' } as Features
const GUESSED_KEY = 'invoice-7'
const CENT = 10_000n
/** More than an answer may have that nobody paid for. */
const JUNK_LENGTH = 70_000

/** A call that is paid for under this key, and what came of it; `undefined` where no quote came. */
async function bought(stage: Stage, endpoint: EndpointName, key?: string, does: Work['does'] = 'return') {
  const work: Work = { act: stage.act, does, tale: { ends: 'whole', ms: 10 } }
  const payment = await quotedAndSigned(stage, PLAIN, endpoint, work)
  if (!payment) return undefined
  const call = { endpoint, work, payment: encodedOf(payment), key, address: stage.buyer.address }
  const reply = await askedFor(stage, requestAt('http', call))
  return { call, payment, reply }
}

/** An answer of an earlier run is not for this request. */
function refusesTheOld(stage: Stage, reply: WireReply | undefined, atMs: number, where: string): void {
  const run = reply && runIn(stage, reply)
  if (run && run.atMs < atMs)
    stage.world.truth.violated(
      'the-right-answer',
      `${stage.act} got run ${run.id} of ${run.endpoint} ${where}`,
    )
}

/** A key, with the payment that it came with, at other endpoints and agents, with another query and by another method. */
const keyElsewhere: Act = async stage => {
  const { world, act } = stage
  const first = await bought(stage, 'work', randomKey(act))
  if (!first) return
  const { call } = first
  const { timeline, conditions } = world
  const others: EndpointName[] = [
    'research',
    'units',
    ...(conditions.agents === 'two' ? (['sister/work'] as const) : []),
  ]
  const plain = requestAt('http', call)
  const requests = [
    ...others.map(endpoint => [requestAt('http', { ...call, endpoint }), `at ${endpoint}`] as const),
    [{ ...plain, target: `${plain.target}?copy=1` }, 'with another query'] as const,
    [requestAt('message', { ...call, endpoint: 'research' }), 'as another skill'] as const,
  ]
  for (const [request, where] of requests) {
    const { nowMs } = timeline
    refusesTheOld(stage, await askedFor(stage, request), nowMs, where)
  }
}

/** The key of an open window, beside a payment that is none: the window covers the call. */
const junkBesideWindow: Act = async stage => {
  const { world, act, buyer } = stage
  const sold = await bought(stage, 'feed')
  const window = sold?.reply && headerOf(sold.reply, 'x-svc-subscription')
  if (window === undefined) return
  const { call } = sold!
  const other = await quotedAndSigned(stage, PLAIN, 'feed', call.work)
  const junk = [Buffer.from('{"x402Version":2}').toString('base64'), ...(other ? [encodedOf(other)] : [])]
  const used = { ...call, window, key: randomKey(act), address: buyer.address }
  const first = runOf(stage, await askedFor(stage, requestAt('http', { ...used, payment: undefined })))
  for (const payment of junk) {
    const run = runOf(stage, await askedFor(stage, requestAt('http', { ...used, payment })))
    // What a store forgot of a window's calls runs again, and is given away.
    const isGivenAway = world.truth.losses.count > 0
    if (first && run && first !== run && promisedMode(world.conditions) === 'replay' && !isGivenAway)
      world.truth.violated('the-right-answer', `${act} got runs ${first.id} and ${run.id} under one key`)
  }
}

/** A payment in the name of somebody else, whom its signature does not prove, under a key that can be guessed. */
const forgedName: Act = async stage => {
  const { world, buyer } = stage
  const first = await bought(stage, 'work', GUESSED_KEY)
  if (!first) return
  const forger = keyOf('forger')
  const { signer } = buyer
  const forging = { ...buyer, signer: buyer.signerFor({ address: signer.address, sign: forger.sign }) }
  const forged = await quotedAndSigned({ ...stage, buyer: forging as Buyer }, PLAIN, 'work', first.call.work)
  if (!forged) return
  const { nowMs } = world.timeline
  const call = { ...first.call, payment: encodedOf(forged), address: STRANGERS_ADDRESS }
  const run = runOf(stage, await askedFor(stage, requestAt('http', call)))
  if (run && run.atMs < nowMs)
    world.truth.violated('kept-for-its-owner', `a forger got run ${run.id} of ${signer.address}`)
}

/** A task of one agent at its sister; and a second payment for a task. */
const taskOfAnother: Act = async stage => {
  const { world, act } = stage
  const work: Work = { act, does: 'return' }
  const task = await taskFor(stage, 'work', work)
  if (task === undefined) return
  const pay = async (endpoint: EndpointName) => {
    const payment = await quotedAndSigned(stage, PLAIN, endpoint, work)
    const { address } = stage.buyer
    const call: DoorCall = { endpoint, work, task, address, ...(payment && { payment: encodedOf(payment) }) }
    return payment && { ...payment, reply: await askedFor(stage, requestAt('task', call)) }
  }
  if (world.conditions.agents === 'two') {
    const run = runOf(stage, (await pay('sister/work'))?.reply)
    if (run) world.truth.violated('the-right-answer', `${act} got run ${run.id} for a task of another agent`)
  }
  const paid = [await pay('work'), await pay('work')]
  world.checkLater(() => {
    const landed = paid.filter(each => each && world.ledger.landed(each.txId) && !isTaken(stage, each.txId))
    const isForgotten = landed.some(each => world.truth.losses.payment(each!.txId))
    if (landed.length > 1 && !isForgotten)
      world.truth.violated('paid-once-a-task', `${act} paid task ${task} twice`)
  })
}

/** The price rises after it was read, and before it is paid. */
const changesMeanwhile: Act = async stage => {
  const { world, buyer, act, dice } = stage
  const careful = new Buyer(world, `${buyer.name} careful`, { maxPrice: '$0.01' })
  careful.act = act
  world.fund(careful.name)
  if (world.conditions.deploy === 'price') world.seller.deploy()
  await sleep(buyer.process.clock, dice.between(0, 5_000))
  await expected(stage, careful.client.call(world.urlOf('work'), workOf(stage)), { by: careful })
  world.checkLater(() => withinCap(stage, careful.signer.address, CENT, 1n))
}

/** A client that dies in the middle of a call, and one that takes its ledger over; the seller may have started again meanwhile. */
const comesBack: Act = async stage => {
  const { world, buyer, act, dice } = stage
  const first = new Buyer(world, `${buyer.name} mortal`, { maxPerDay: '$0.03' })
  world.fund(first.name)
  first.act = act
  const work = { act, does: 'return' } as const
  // It is never heard of again.
  void first.client.call(world.urlOf('work'), work).catch(() => {})
  await sleep(buyer.process.clock, dice.between(10, 2_000))
  first.process.die()
  if (dice.chance(0.5)) world.seller.forget(world.fate.dice(`${act}.forgets`))
  const { ledger } = first
  const next = new Buyer(world, first.name, { maxPerDay: '$0.03', ledger })
  next.act = act
  for (let time = 0; time < 5; time++)
    await expected(stage, next.client.call(world.urlOf('work'), workOf(stage)), { by: next })
  world.checkLater(() => withinCap(stage, first.signer.address, 3n * CENT))
}

/** Requests without money, under keys and with much in them: they leave nothing behind. */
const free: Act = async stage => {
  const work: Work = { act: stage.act, does: 'return', junk: 'x'.repeat(JUNK_LENGTH) }
  for (const key of [randomKey(stage.act), GUESSED_KEY]) {
    const headers = { 'idempotency-key': key }
    await askedFor(stage, workRequest('work', work, headers, STRANGERS_ADDRESS))
  }
}

/** Who has seen a payment that failed may present it elsewhere. */
function isTaken({ world, act }: Stage, txId: string): boolean {
  return world.truth.askings.some(other => other.payment?.txId === txId && other.act !== act)
}

function runOf(stage: Stage, reply: WireReply | undefined) {
  return reply && runIn(stage, reply)
}

function randomKey(act: string): string {
  return `random-key-of-${act}-of-32-characters`
}

const STRANGE = [
  keyElsewhere,
  junkBesideWindow,
  forgedName,
  taskOfAnother,
  changesMeanwhile,
  comesBack,
  free,
  bridged,
]

export async function strange(stage: Stage): Promise<void> {
  await stage.dice.pick(STRANGE)(stage)
}
