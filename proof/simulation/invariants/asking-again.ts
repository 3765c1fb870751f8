/** Everything that was paid or promised, asked for once more. */

import { RANDOM_KEY_LENGTH_MIN } from '../caps.js'
import { promisedMode } from '../conditions.js'
import { proofOf } from '../parties/acts.js'
import { Buyer } from '../parties/buyer.js'
import { keyOf } from '../world/accounts.js'
import { originOf, sellsBalance, type Work } from '../world/agents.js'
import type { Asking, Truth } from '../world/truth.js'
import type { WireReply } from '../world/wire.js'
import { type World, workRequest } from '../world/world.js'
import { isWindowOpen, mayBeUsedUp, NODE_KEEPS } from './answers.js'

/** Whether a key has fewer characters than a secret. */
export const isGuessable = (key: string | undefined) =>
  key !== undefined && key.length < RANDOM_KEY_LENGTH_MIN
const RATE_WINDOW_MS = 60_000
const ASKING_AGAIN_MS = 120_000

/**
 * Everybody asks again for what was paid or promised, with the very request that was sent. Whoever presents somebody
 * else's payment, or under another key, may hear that it is in use until its own caller has asked: so they ask twice.
 */
export async function askedAgain(world: World): Promise<void> {
  const { truth } = world
  const auditor = new Buyer(world, 'auditor')
  const open: Asking[] = []
  for (const asking of paidRequests(truth.askings)) {
    const reply = await repeated(world, auditor, asking)
    if (isOpen(reply)) open.push(asking)
    else checkAgain(world, asking, reply!)
  }
  await windowsUsed(world, auditor)
  for (const asking of open) {
    const reply = await repeated(world, auditor, asking)
    const txId = asking.payment!.txId
    // What was recorded under a key that can be guessed is opened by nobody once it can land no more: it expires.
    const all = truth.askings.filter(other => other.payment?.txId === txId)
    if (all.some(other => isGuessable(other.key))) continue
    if (!isOpen(reply)) checkAgain(world, asking, reply!)
    else if (!all.some(other => opensNoWindow(world, other)) && !isTooOld(world, asking))
      truth.violated(
        'ends-decided',
        `${asking.act} asked again for ${asking.payment!.txId} and got ${reply?.status} ${reply && codeIn(reply)}`,
      )
  }
}

/**
 * The last of each request that brought a payment. The same body with another query, or for another task, is another request,
 * which opens nothing of what this one recorded; and from another address it may open nothing, either.
 */
export function paidRequests(askings: readonly Asking[]): Asking[] {
  const last = new Map<string, Asking>()
  for (const asking of askings) {
    const { payment, endpoint, key, request, address } = asking
    if (payment)
      last.set(JSON.stringify([payment.txId, endpoint, key, request.target, request.body, address]), asking)
  }
  return [...last.values()]
}

/** Every window that has not ended, by time or by its last call, opens its endpoint. */
async function windowsUsed(world: World, auditor: Buyer): Promise<void> {
  const { truth, timeline, conditions } = world
  for (const [window, sold] of truth.windows) {
    // Asking again can take hours, where a limit is waited out.
    if (!isWindowOpen(world, sold, timeline.nowMs) || truth.losses.window(window)) continue
    if (mayBeUsedUp(truth, conditions, window, { atMs: timeline.nowMs })) continue
    const work = { act: 'auditor', does: 'return' } as const
    const headers = { 'x-svc-subscription': window }
    let reply: WireReply | undefined
    world.http(auditor.process, 'auditor', workRequest(sold.endpoint, work, headers, auditor.address)).then(
      given => {
        reply = given
      },
      () => {},
    )
    await timeline.run(timeline.nowMs + ASKING_AGAIN_MS, () => reply !== undefined)
    if (reply?.status !== 200 && reply?.status !== 429)
      truth.violated('windows-hold', `a window of ${sold.txId} got ${reply?.status}`)
  }
}

async function repeated(world: World, auditor: Buyer, asking: Asking): Promise<WireReply | undefined> {
  const { timeline } = world
  const { 'sign-in-with-x': _, ...headers } = asking.request.headers
  const proof = proofFor(world, auditor, asking)
  const request = {
    ...asking.request,
    // What the caller said that the host is may be no host.
    host: new URL(originOf(asking.endpoint)).host,
    headers: { ...headers, ...(proof !== undefined && { 'sign-in-with-x': proof }) },
  }
  let reply: WireReply | undefined
  const ask = async () => {
    reply = undefined
    world.http(auditor.process, asking.act, request).then(
      given => {
        reply = given
      },
      () => {},
    )
    await timeline.run(timeline.nowMs + ASKING_AGAIN_MS, () => reply !== undefined)
  }
  await ask()
  // A limit is waited out, as the answer says.
  while (reply && codeIn(reply) === 'rate_limited') {
    await timeline.run(timeline.nowMs + RATE_WINDOW_MS)
    await ask()
  }
  return reply
}

/** Of the payer, whoever asked. A seller whose clock is minutes off refuses each proof. */
function proofFor(world: World, { process }: Buyer, { payment, endpoint }: Asking): string | undefined {
  const { skewMs, buyers } = world.conditions
  const name = nameOf(buyers, payment!.payer)
  return skewMs > 0 || name === undefined
    ? undefined
    : proofOf({ name, process }, payment!, { origin: originOf(endpoint) })
}

function nameOf(buyers: number, payer: string): string | undefined {
  const names = Array.from({ length: buyers }, (_, at) => `buyer${at + 1}`)
  return names.find(each => keyOf(each).address === payer)
}

function isTooOld({ ledger }: World, { payment }: Asking): boolean {
  return ledger.rounds.current() - payment!.firstValid >= NODE_KEEPS
}

/** Whether this payer signs with one key of its own: others cannot prove themselves here. */
function isPlain({ conditions }: World, payer: string): boolean {
  return nameOf(conditions.buyers, payer) !== undefined
}

/** Who asks has neither a proof, because the seller's clock is off, nor a random key that counts. */
function hasAddressAlone(world: World, { key, payment }: Asking): boolean {
  const { skewMs } = world.conditions
  return (
    (key === undefined || promisedMode(world.conditions) === undefined) &&
    (skewMs > 0 || !isPlain(world, payment!.payer))
  )
}

/** An address opens no window, so the record waits for its own end. */
function opensNoWindow(world: World, asking: Asking): boolean {
  return WINDOWS.has(asking.endpoint) && hasAddressAlone(world, asking)
}

const WINDOWS: ReadonlySet<string> = new Set(['feed', 'vault', 'sister/feed', 'balance', 'sister/balance'])

function isOpen(reply: WireReply | undefined): boolean {
  return reply === undefined || OPEN_CODES.includes(codeIn(reply) ?? '')
}

function codeIn({ body }: WireReply): string | undefined {
  return /"code":"(\w+)"/.exec(body)?.[1]
}

const OPEN_CODES = ['idempotency_in_progress', 'payment_in_use', 'settlement_unknown', 'store_unavailable']

function checkAgain(world: World, asking: Asking, reply: WireReply): void {
  const { truth, ledger } = world
  const onLostResponse = promisedMode(world.conditions)
  const { payment, key, act, endpoint } = asking
  const txId = payment!.txId
  const code = codeIn(reply)
  // A redirect of the handler's is an answer, too.
  const isReplayed = reply.status < 400 || code === 'answer_not_kept'
  if (isReplayed || !ledger.landed(txId) || truth.byPayer.has(txId) || truth.losses.payment(txId)) return
  const { act: asked, tale } = JSON.parse(asking.body) as Work
  const isOurs =
    truth.handlerRuns.some(run => run.txId === txId && run.endpoint === endpoint && run.act === asked) ||
    (sellsBalance(endpoint) && truth.records.some(record => record.txId === txId))
  if (!isOurs || isGuessable(key)) return
  if (opensNoWindow(world, asking)) return
  // Presented under several keys, or with several bodies: the answer is kept for one of them. So it is with addresses, where nothing
  // else speaks for who asks.
  const others = truth.askings.filter(other => other.payment?.txId === txId)
  const isAddressed = hasAddressAlone(world, asking)
  const isAnother = (other: Asking) =>
    other.key !== key ||
    taskIn(other) !== taskIn(asking) ||
    other.body !== asking.body ||
    other.endpoint !== endpoint ||
    (isAddressed && other.address !== asking.address)
  if (others.some(isAnother)) return
  // What stopped between recording and answering is owed, in every mode and without a key.
  const recorders = truth.records.filter(record => record.txId === txId)
  const stopped = recorders.every(
    ({ call }) =>
      !truth.endedMs.has(call) || truth.calls.some(each => each.id === call && each.final === 'inDoubt'),
  )
  const hasKey = key !== undefined && onLostResponse !== undefined
  // What a stream would have said died with its process: whoever asks is told so once, and then that the payment is spent.
  const isLostStream = tale !== undefined && recorders.some(({ call }) => !truth.endedMs.has(call))
  const isForgotten =
    !hasKey && (isLostStream || wasHandedOver(truth, txId, others) || isOldTask(world, asking))
  if (stopped && !isForgotten && !truth.delivered.has(txId))
    truth.violated(
      'answer-can-be-had',
      `${act} paid ${txId}, its call stopped, and asking again got ${reply.status} ${code}`,
    )
  if (hasKey && onLostResponse === 'replay')
    truth.violated('answer-can-be-had', `${act} paid ${txId} under a key and got ${reply.status} ${code}`)
}

/** The task names the call, and no key beside it does. */
const taskIn = ({ request }: Asking) => /"taskId":"([^"]*)"/.exec(request.body ?? '')?.[1]

/** A task's id is its key where no others count, too: for ten minutes from when its payment was found. */
function isOldTask({ truth, timeline }: World, { payment, request }: Asking): boolean {
  return (
    request.body?.includes('"taskId"') === true &&
    truth.resolves.some(
      ({ txId, verdict, atMs }) =>
        txId === payment!.txId && verdict === 'found' && timeline.nowMs - atMs >= TASK_KEPT_MS,
    )
  )
}

const TASK_KEPT_MS = 600_000

/**
 * Where no key keeps an answer for its window, it is kept for two minutes from when it was found to be paid for: where somebody waited
 * for it then, or where the call that found it died with it. So is the word that it was not kept.
 */
function wasHandedOver({ resolves, endedMs }: Truth, txId: string, askings: readonly Asking[]): boolean {
  const isFound = resolves.some(
    ({ call, txId: of, verdict, atMs }) =>
      of === txId &&
      verdict === 'found' &&
      (!endedMs.has(call) ||
        askings.some(asking => asking.atMs <= atMs && (asking.heardMs ?? Infinity) >= atMs)),
  )
  return isFound || askings.some(({ reply }) => reply && codeIn(reply) === 'answer_not_kept')
}
