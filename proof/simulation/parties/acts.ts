/** What buyers do, honest ones and others. Each act is a little story of its own, rolled from its name. */

import type { PaymentRequired, PaymentRequirements } from '../../../src/client.js'
import { SvcError } from '../../../src/index.js'
import {
  decodeAnswerHeader,
  networkIdsOf,
  type PaymentPayload,
  proofBytes,
  type SignedPayment,
  sleep,
  TESTNET,
} from '../../../src/simulation-parts.js'
import { RANDOM_KEY_LENGTH_MIN } from '../caps.js'
import type { Dice } from '../kernel/dice.js'
import { ConnectionLost } from '../kernel/network.js'
import { keyOf } from '../world/accounts.js'
import { type EndpointName, ORIGIN, type Tale, type Work } from '../world/agents.js'
import { type Asking, headerOf } from '../world/truth.js'
import type { WireReply } from '../world/wire.js'
import { type World, workRequest } from '../world/world.js'
import type { Buyer } from './buyer.js'
import { HOSTILE_HOST } from './hostile-seller.js'

export interface Stage {
  readonly world: World
  readonly buyer: Buyer
  /** The act's own name. */
  readonly act: string
  readonly dice: Dice
}

export type Act = (stage: Stage) => Promise<void>

/** Handlers that answer, mostly; and how long they take: at once, some seconds, longer than they may. */
export function workOf({ act, dice, world }: Stage): Work {
  const does = dice.pick([
    'return',
    'return',
    'return',
    'return',
    'return',
    'redirect',
    'much',
    'throw',
    'refuse',
    'stall',
    'nothing',
  ] as const)
  const ms = dice.chance(0.5) ? dice.span(1, 40_000) : undefined
  return {
    act,
    does,
    ...(ms !== undefined && { ms }),
    ...(dice.chance(0.3) && { units: dice.between(1, 9) }),
    ...(world.conditions.sellsStreams && { tale: taleOf(world.fate.dice(`${act}.tale`)) }),
  }
}

function taleOf(dice: Dice): Tale {
  const ends = dice.pick(['whole', 'whole', 'whole', 'break', 'never'] as const)
  return { ends, ms: dice.chance(0.5) ? 0 : dice.span(1, 90_000) }
}

/** More than `idempotency.max` of the simulated seller. */
const FLOOD = 70

const PAID: readonly EndpointName[] = ['work', 'work', 'research', 'units']
const STREAMED = 0.5
/** How often a payer names a sponsor that it would rather have, where there are two. */
const CHOOSES_SPONSOR = 0.4

/** Dice of its own for streams, so that the rest of an episode is as it was without them. */
function sold({ world, act }: Stage, picked: EndpointName): EndpointName {
  const isStream =
    picked === 'work' && world.conditions.sellsStreams && world.fate.dice(`${act}.sold`).chance(STREAMED)
  return isStream ? 'tale' : picked
}

/** One call by the real client, which retries as it sees fit. */
const call: Act = async stage => {
  await called(stage, sold(stage, stage.dice.pick(PAID)), workOf(stage))
}

/** The same call again and again under one key, after failures and without. */
const again: Act = async stage => {
  const { buyer, dice, act } = stage
  const [endpoint, work] = [sold(stage, dice.pick(PAID)), workOf(stage)]
  const idempotencyKey = randomKey(act)
  for (let times = dice.between(2, 4); times > 0; times--) {
    const length = dice.chance(0.3) ? 2 : 1
    const calls = Array.from({ length }, () =>
      called(stage, endpoint, work, { idempotencyKey, isAlone: length === 1 }),
    )
    await Promise.all(calls)
    await sleep(buyer.process.clock, dice.span(10, dice.chance(0.5) ? 1_000 : 60_000))
  }
}

/** Buys a window and uses it. */
const subscribe: Act = async stage => {
  const { world, buyer, dice } = stage
  buyer.act = stage.act
  await expected(stage, buyer.client.subscribe(world.urlOf('feed'), workOf(stage)))
  for (let times = dice.between(1, 3); times > 0; times--) {
    await sleep(buyer.process.clock, dice.span(10, 60_000))
    await called(stage, 'feed', workOf(stage))
  }
}

/** One payment, presented by hand: at several doors, several times, late, or hung up. */
const present: Act = async stage => {
  const { buyer, dice } = stage
  const endpoint = sold(stage, dice.pick([...PAID, 'feed', 'feed'] as const))
  const work = workOf(stage)
  const payment = await signed(stage, endpoint, work)
  if (!payment) return
  const header = encoded(payment, dice)
  const keys = [undefined, randomKey(stage.act), 'short', `other-key-of-${stage.act}`]
  if (dice.chance(0.2)) await sleep(buyer.process.clock, dice.span(1_000, 330_000))
  await Promise.all(
    Array.from({ length: dice.between(1, 4) }, async (_, time) => {
      await sleep(buyer.process.clock, time === 0 ? 0 : dice.span(1, 60_000))
      const key = dice.chance(0.6) ? keys[0] : dice.pick(keys)
      const at = dice.chance(0.85) ? endpoint : dice.pick(PAID)
      await presented(stage, at, work, { header, key, door: dice.pick(['http', 'http', 'a2a'] as const) })
    }),
  )
}

/** The same payment in other bytes, so that it might count as another one. */
const reencode: Act = async stage => {
  const { dice } = stage
  const endpoint = sold(stage, dice.pick(PAID))
  const work = workOf(stage)
  const payment = await signed(stage, endpoint, work)
  if (!payment) return
  await Promise.all(
    Array.from({ length: 3 }, () => presented(stage, endpoint, work, { header: encoded(payment, dice) })),
  )
}

/** Payments of an account that cannot pay them all: each is good until another has landed. */
const spree: Act = async stage => {
  const { dice } = stage
  const work = { act: stage.act, does: 'return', ms: dice.span(1, 5_000) } as const
  const payments = await Promise.all(
    Array.from({ length: dice.between(2, 20) }, () => signed(stage, 'work', work)),
  )
  await Promise.all(
    payments.map(payment => payment && presented(stage, 'work', work, { header: encoded(payment, dice) })),
  )
}

/** More calls at work than a store in memory has room for answers: they must push nothing out that was paid for. */
const flood: Act = async stage => {
  const { buyer, dice, act } = stage
  const work = { act, does: 'stall' } as const
  const payments = await Promise.all(Array.from({ length: FLOOD }, () => signed(stage, 'work', work)))
  await Promise.all(
    payments.map(async payment => {
      await sleep(buyer.process.clock, dice.between(0, 2))
      if (payment) await presented(stage, 'work', work, { header: encoded(payment, dice) })
    }),
  )
}

/** A host that is none, in the header that URLs are made of. */
const mishost: Act = async stage => {
  const { dice, act } = stage
  const work = workOf(stage)
  const payment = await signed(stage, 'work', work)
  if (!payment) return
  const host = dice.pick(['agent.example:99999', 'a b', '[::', 'agent.example'])
  const key = randomKey(act)
  await presented(stage, 'work', work, { header: encoded(payment, dice), key, door: 'a2a', host })
}

/** Somebody else's payment, read on the chain or off the wire, with a key and sometimes a proof of one's own. */
const steal: Act = async stage => {
  const { world, buyer, dice, act } = stage
  const seen = world.truth.askings.filter(({ header, payment }) => header && payment)
  if (seen.length === 0) return
  const asking = dice.pick(seen)
  const { endpoint, header, body, key, payment } = asking
  const work = dice.chance(0.5) && body ? (JSON.parse(body) as Work) : workOf(stage)
  const ownKey = dice.pick([undefined, 'short', randomKey(`stolen-by-${act}`), key])
  // Dice of its own: the rest of an episode is as it was before payers could prove themselves.
  const own = world.fate.dice(`${act}.proof`).chance(0.3) && payment!.payer !== keyOf(buyer.name).address
  const proof = own ? proofOf(buyer, payment!) : undefined
  const isSecret = ownKey !== undefined && ownKey === key && !isGuessable(ownKey)
  // The chain shows what was signed. Off the wire, the payment names its key.
  const shown = isSecret ? header! : withoutExtensions(header!)
  const reply = await presented(stage, endpoint, work, { header: shown, key: ownKey, proof })
  const isReplay = reply !== undefined && headerOf(reply, 'idempotency-replayed') === 'true'
  // What was stolen may have been this buyer's own, stolen before by another.
  const isOwn = seen.some(other => other.payment!.txId === payment!.txId && other.address === buyer.address)
  if (isReplay && !isSecret && !isOwn)
    world.truth.violated('kept-for-its-owner', `${act} got the answer of ${asking.act} for ${payment!.txId}`)
}

function withoutExtensions(header: string): string {
  const { extensions: _, ...payload } = JSON.parse(Buffer.from(header, 'base64').toString('utf8'))
  return Buffer.from(JSON.stringify(payload)).toString('base64')
}

/** Presents a payment, loses the answer or not, and asks again with a proof: what was charged is there, once more. */
const prove: Act = async stage => {
  const { world, buyer, dice, act } = stage
  const endpoint = sold(stage, dice.pick(PAID))
  const work = workOf(stage)
  const payment = await signed(stage, endpoint, work)
  if (!payment) return
  const presenting = {
    header: encoded(payment, dice),
    key: dice.pick([undefined, undefined, randomKey(act)]),
  }
  await presented(stage, endpoint, work, presenting)
  await sleep(buyer.process.clock, dice.span(1, 30_000))
  const proof = proofOf(buyer, payment)
  const reply = await presented(stage, endpoint, work, { ...presenting, proof })
  const { truth, timeline } = world
  const settled = truth.calls.find(({ txId, final }) => txId === payment.txId && final === 'settled')
  const wasKept = settled && timeline.nowMs - truth.endedMs.get(settled.id)! < ASKED_AGAIN_MS
  // Who has seen a payment that has not landed may pay with it under another key, which the answer is kept under.
  const isTaken = truth.askings.some(other => other.payment?.txId === payment.txId && other.act !== act)
  if (
    reply &&
    wasKept &&
    !isTaken &&
    !truth.losses.payment(payment.txId) &&
    reply.body.includes('"payment_spent"')
  )
    truth.violated('answer-can-be-had', `${act} proved that it paid ${payment.txId}, and got nothing`)
}

/** Less than an answer without a key is kept for. */
const ASKED_AGAIN_MS = 60_000

const isGuessable = (key: string): boolean => key.length < RANDOM_KEY_LENGTH_MIN

function randomKey(act: string): string {
  return `random-key-of-${act}-of-32-characters`
}

/** As the buyer's clock has it: a seller whose clock is minutes off refuses it. */
export function proofOf(
  buyer: Pick<Buyer, 'name' | 'process'>,
  { txId }: { readonly txId: string },
  { origin = ORIGIN, agoMs = 0 } = {},
): string {
  const { address, sign } = keyOf(buyer.name)
  const unsigned = {
    domain: new URL(origin).host,
    address,
    uri: origin,
    version: '1',
    chainId: TESTNET.caip2,
    type: 'ed25519',
    nonce: 'nonceOfTheBuyers',
    issuedAt: new Date(buyer.process.clock.now() - agoMs).toISOString(),
    requestId: txId,
  } as const
  const signature = Buffer.from(sign(proofBytes(unsigned))).toString('base64')
  return Buffer.from(JSON.stringify({ ...unsigned, signature })).toString('base64')
}

/** Money that arrives without the seller: the payer submits the payment itself, before or while it is presented. */
const behind: Act = async stage => {
  const { world, buyer, dice } = stage
  const work = workOf(stage)
  const payment = await signed(stage, 'work', work, { isOwnFee: true })
  if (!payment) return
  const land = async () => {
    await sleep(buyer.process.clock, dice.span(1, 40_000))
    world.landByPayer(payment)
  }
  const show = async () => {
    await sleep(buyer.process.clock, dice.span(1, 40_000))
    await presented(stage, 'work', work, {
      header: encoded(payment, dice),
      key: dice.chance(0.5) ? randomKey(stage.act) : undefined,
    })
  }
  await Promise.all([land(), show(), dice.chance(0.5) ? show() : undefined])
}

/** A call of a seller that wants more than was agreed, under caps. */
const shop: Act = async stage => {
  const { buyer, act, dice } = stage
  buyer.act = act
  await expected(stage, buyer.client.call(`https://${HOSTILE_HOST}/${dice.between(1, 3)}`, { act }))
}

export const ACTS = {
  call,
  again,
  subscribe,
  present,
  reencode,
  spree,
  steal,
  behind,
  flood,
  mishost,
  prove,
}
export const HOARD_ACTS = { shop }
export type ActKind = keyof typeof ACTS

async function called(
  stage: Stage,
  endpoint: EndpointName,
  work: Work,
  { idempotencyKey, isAlone = true }: { readonly idempotencyKey?: string; readonly isAlone?: boolean } = {},
): Promise<void> {
  const { buyer } = stage
  buyer.act = stage.act
  await expected(
    stage,
    buyer.client.call(stage.world.urlOf(endpoint), work, { ...(idempotencyKey && { idempotencyKey }) }),
    { isAlone },
  )
}

/**
 * The client fails in words of its own, or its own code is broken.
 *
 * @param by who makes this call
 * @param isAlone whether this act makes no other call meanwhile
 */
export async function expected(
  { world, act, buyer }: Stage,
  calling: Promise<unknown>,
  { by = buyer, isAlone = true } = {},
): Promise<void> {
  const { truth } = world
  const { length } = truth.askings
  // A payment that was presented before may be one that somebody presents again in its buyer's place.
  const isNew = (txId: string) => truth.askings.slice(0, length).every(other => other.payment?.txId !== txId)
  const isOurs = ({ payment, address, body }: Asking) =>
    payment &&
    address === by.address &&
    (JSON.parse(body || '{}') as Partial<Work>).act === act &&
    isNew(payment.txId)
  try {
    await calling
  } catch (error) {
    if (error instanceof SvcError) {
      // What was presented before is shown again by who has seen it.
      const shown = new Set(truth.askings.slice(0, length).map(asking => asking.payment?.txId))
      const sent = truth.askings.slice(length).filter(isOurs)
      if (isAlone && sent.some(({ payment }) => !shown.has(payment!.txId))) saysWhatWasPaid(world, act, error)
      return
    }
    truth.violated('errors-are-named', `${act}: ${error instanceof Error ? error.stack : String(error)}`)
  }
}

/** After a signature has left the client, its error says what became of the money. */
function saysWhatWasPaid({ truth }: World, act: string, { code, detail }: SvcError): void {
  const { txId, amount, charged, lastValid } = (detail ?? {}) as Record<string, unknown>
  if ([txId, amount, charged, lastValid].includes(undefined))
    truth.violated('ends-carry-receipts', `${act} paid, and ${code} says ${JSON.stringify(detail)}`)
}

/** A payment for what is quoted now; `undefined` where no quote came. */
async function signed(
  stage: Stage,
  endpoint: EndpointName,
  work: Work,
  { isOwnFee = false } = {},
): Promise<SignedPayment | undefined> {
  const { world, buyer, act } = stage
  try {
    const quoted = await world.http(buyer.process, act, workRequest(endpoint, work, {}, buyer.address))
    const challenge = decodeAnswerHeader(headerOf(quoted, 'payment-required') ?? '') as
      | PaymentRequired
      | undefined
    const accepted = challenge && entryFor(challenge, act)
    if (!challenge || !accepted) return undefined
    const { feePayer: _, ...extra } = accepted.extra ?? {}
    const choice = isOwnFee ? undefined : world.fate.dice(`${act}.sponsor`)
    if (world.conditions.backup === 'none' || !choice?.chance(CHOOSES_SPONSOR))
      return await buyer.signer.sign(challenge, isOwnFee ? { ...accepted, extra } : accepted)
    // In the group, or only beside it.
    const chosen = { ...accepted, extra: { ...extra, feePayer: keyOf('backup sponsor').address } }
    if (choice.chance(0.5)) return await buyer.signer.sign(challenge, chosen)
    const payment = await buyer.signer.sign(challenge, accepted)
    return { ...payment, payload: { ...payment.payload, accepted: chosen } }
  } catch (error) {
    if (error instanceof ConnectionLost || error instanceof SvcError) return undefined
    throw error
  }
}

/** One of the quote's entries. The dice are not asked: the acts that a seed rolls do not depend on how many there are. */
function entryFor({ accepts }: PaymentRequired, act: string): PaymentRequirements | undefined {
  return accepts?.[act.charCodeAt(act.length - 1) % accepts.length]
}

/** Several spellings of one payment: all of them decode to the same transaction. */
function encoded({ payload }: SignedPayment, dice: Dice): string {
  const spelt = dice.chance(0.5)
    ? payload
    : { ...respelt(payload), [`x-${dice.between(1, 9)}`]: dice.between(1, 9) }
  return Buffer.from(JSON.stringify(spelt, null, dice.pick([0, 1]))).toString('base64')
}

/** The payment as if the other entry of the quote had been chosen. */
function respelt(payload: PaymentPayload): PaymentPayload {
  const accepted = payload.accepted as PaymentRequirements
  const network = networkIdsOf(TESTNET, 'both').find(id => id !== accepted.network)!
  return { ...payload, accepted: { ...accepted, network } }
}

export interface Presenting {
  readonly header: string
  readonly key?: string | undefined
  readonly door?: 'http' | 'a2a'
  /** What the caller says the host is. */
  readonly host?: string
  /** `SIGN-IN-WITH-X` */
  readonly proof?: string | undefined
}

export async function presented(
  { world, buyer, act }: Pick<Stage, 'world' | 'buyer' | 'act'>,
  endpoint: EndpointName,
  work: Work,
  { header, key, door = 'http', host, proof }: Presenting,
  address = buyer.address,
): Promise<WireReply | undefined> {
  const headers = {
    'payment-signature': header,
    ...(key !== undefined && { 'idempotency-key': key }),
    ...(proof !== undefined && { 'sign-in-with-x': proof }),
  }
  const request = { ...workRequest(endpoint, work, headers, address), ...(host !== undefined && { host }) }
  try {
    return await world.http(
      buyer.process,
      act,
      door === 'http' ? request : asMessage(request, endpoint, work),
    )
  } catch (error) {
    if (error instanceof ConnectionLost) return undefined
    throw error
  }
}

function asMessage(request: ReturnType<typeof workRequest>, skillId: EndpointName, work: Work) {
  const message = {
    role: 'user',
    kind: 'message',
    messageId: 'm',
    parts: [{ kind: 'data', data: work }],
    metadata: { skillId },
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } })
  return { ...request, target: '/a2a', body }
}
