/** What is checked of every reply, when it is heard. */

import { decodeAnswerHeader, type Ledger, type ReadPayment } from '../../../src/simulation-parts.js'
import type { Conditions } from '../conditions.js'
import { EPOCH_MS } from '../kernel/process.js'
import { ENDPOINTS, sellsBalance, takesBalance, termsAfter } from '../world/agents.js'
import { type Asking, headerOf, type Truth, type Window } from '../world/truth.js'
import type { WireReply } from '../world/wire.js'
import type { World } from '../world/world.js'
import { checkOnBalance, learnBalance } from './balances.js'
import { checkOwner, checkSize } from './ownership.js'

export function checkReply(world: World, asking: Asking, reply: WireReply): void {
  const { truth, ledger } = world
  // What is free, such as a manifest, is of no endpoint.
  if (!ENDPOINTS.includes(asking.endpoint) && asking.request.method === 'GET') return
  checkSize(world, asking, reply)
  learnWindow(world, asking, reply)
  learnBalance(world, asking, reply)
  if (sellsBalance(asking.endpoint)) return void checkPurchase(world, asking, reply)
  if (asking.balance !== undefined && takesBalance(asking.endpoint) && asking.header === undefined)
    return void checkOnBalance(world, asking, reply)
  if (reply.status >= 200 && reply.status < 400) checkAnswer(truth, ledger, asking, reply)
  checkOwner(world, asking, reply)
  if (reply.status === 402) checkQuote(world, asking)
  if (reply.status === 402) checkWindow(world, asking)
  if (asking.window !== undefined) checkCount(world, asking.window)
  if (reply.status >= 500) checkFailure(truth, asking, reply)
}

/** A window's key comes with the answer that sold it; and with the refusal that says that this answer was not kept. */
function learnWindow({ truth, ledger }: World, { act, endpoint }: Asking, reply: WireReply): void {
  const key = headerOf(reply, 'x-svc-subscription')
  if (key === undefined) return
  const receipt = decodeAnswerHeader(headerOf(reply, 'payment-response') ?? '')
  const txId = (receipt?.transaction ?? /"txId\\?":\\?"([A-Z2-7]{52})/.exec(reply.body)?.[1]) as string
  if (!ledger.landed(txId))
    truth.violated('no-answer-without-payment', `${act} got a window's key for ${txId}, which has not landed`)
  const expiresAtMs = Date.parse(headerOf(reply, 'x-svc-subscription-expires') ?? '')
  truth.windows.set(key, { txId, endpoint, expiresAtMs, runs: truth.windows.get(key)?.runs ?? new Set() })
}

/** Its answer is the key; what else it says is checked as of any other. */
function checkPurchase(world: World, asking: Asking, reply: WireReply): void {
  const { truth } = world
  if (reply.status === 402) checkQuote(world, asking)
  if (reply.status >= 500) checkFailure(truth, asking, reply)
  if (reply.status >= 400) return
  checkOwner(world, asking, reply)
  const sold = truth.balances.get(headerOf(reply, 'x-svc-balance-key') ?? '')
  const said = /\\?"balance\\?":\\?"(\d+)/.exec(reply.body)?.[1]
  if (!sold || said !== String(sold.bought))
    truth.violated(
      'the-right-answer',
      `${asking.act} bought a balance of ${said}, and ${sold?.bought} were paid`,
    )
}

function checkAnswer(truth: Truth, ledger: Ledger, asking: Asking, reply: WireReply): void {
  const { act, payment, window } = asking
  const receipt = decodeAnswerHeader(headerOf(reply, 'payment-response') ?? '')
  const txId = receipt?.transaction as string | undefined
  const run = truth.handlerRuns[Number(/\\?"run\\?":(\d+)/.exec(reply.body)?.[1]) - 1]
  if (!run) return void truth.violated('the-right-answer', `${act} got an answer of no run: ${reply.body}`)
  if (txId === undefined) {
    const sold = window === undefined ? undefined : truth.windows.get(window)
    if (!sold || !ledger.landed(sold.txId))
      truth.violated('no-answer-without-payment', `${act} got run ${run.id} for nothing`)
    if (sold && run.endpoint !== sold.endpoint)
      truth.violated('windows-open-their-own', `${act} got ${run.endpoint} by a window of ${sold.endpoint}`)
    sold?.runs.add(run.id)
    return
  }
  if (!ledger.landed(txId))
    truth.violated('no-answer-without-payment', `${act} got run ${run.id} for ${txId}, which has not landed`)
  if (run.txId !== txId || !run.returned)
    truth.violated('the-right-answer', `${act} got run ${run.id} of ${run.txId} under ${txId}`)
  if (JSON.parse(asking.body || '{}').act !== run.act)
    truth.violated('the-right-answer', `${act} got the answer of ${run.act}`)
  if (run.endpoint !== asking.endpoint)
    truth.violated('the-right-answer', `${act} asked ${asking.endpoint} and got an answer of ${run.endpoint}`)
  const isReplay = headerOf(reply, 'idempotency-replayed') === 'true'
  if (!isReplay && payment && payment.txId !== txId)
    truth.violated('the-right-answer', `${act} paid ${payment.txId} and got ${txId}`)
  const first = truth.delivered.get(txId) ?? run.id
  truth.delivered.set(txId, first)
  if (first !== run.id && !truth.losses.payment(txId))
    truth.violated('one-answer-a-payment', `${txId} got runs ${first} and ${run.id}`)
}

function checkQuote(world: World, { act, payment, endpoint, atMs }: Asking): void {
  const { truth, ledger } = world
  const landed = payment && ledger.landed(payment.txId)
  if (!landed || truth.byPayer.has(payment.txId)) return
  const settled = truth.settles.find(({ txId }) => txId === payment.txId)
  const run = truth.handlerRuns.find(each => each.txId === payment.txId && each.endpoint === endpoint)
  // One that was sent to be settled before this request began, by this endpoint, and landed at once or later.
  if (!settled || !run || settled.atMs > atMs || landed.landedAt * 1_000 > EPOCH_MS + atMs) return
  if ((truth.losses.payment(payment.txId) || isOld(world, payment)) && !knowsByChain(world, payment)) return
  truth.violated('not-quoted-again', `${act} was quoted again for ${payment.txId}, which had landed`)
}

/** The chain is asked about a payment that the store has forgotten, where its payer signed it; and a node may not know. */
function knowsByChain({ conditions, ledger }: World, { firstValid, proven }: ReadPayment): boolean {
  const troubles = [...Object.values(conditions.links.node), ...Object.values(conditions.node)]
  return proven() && troubles.every(often => often === 0) && !isOld({ ledger }, { firstValid })
}

/** Then the time of its record may be over, too. */
function isOld({ ledger }: Pick<World, 'ledger'>, { firstValid }: Pick<ReadPayment, 'firstValid'>): boolean {
  return ledger.rounds.current() - firstValid >= NODE_KEEPS
}

/** Its blocks, in rounds. This seller has no indexer, so what it is asked later it cannot know: docs/storage.md. */
export const NODE_KEEPS = 1_000n

/** How long a request may take to arrive. */
const ARRIVAL_MS = 120_000

/** Whether a request that is sent now arrives while the window is open. */
export function isWindowOpen({ seller }: World, { expiresAtMs }: Window, atMs: number): boolean {
  return expiresAtMs - seller.skewMs.most >= EPOCH_MS + atMs + ARRIVAL_MS
}

function checkWindow(world: World, asking: Asking): void {
  const { truth, conditions } = world
  const { act, window, endpoint, atMs } = asking
  const sold = window === undefined ? undefined : truth.windows.get(window)
  if (!sold || endpoint !== sold.endpoint || !isWindowOpen(world, sold, atMs)) return
  if (truth.losses.window(window!)) return
  if (mayBeUsedUp(truth, conditions, window!, asking)) return
  truth.violated('windows-hold', `${act} was quoted in a window that it had paid for with ${sold.txId}`)
}

/** Longer than a failed call may be reserved, and than its request may be on its way. */
const GIVEN_BACK_MS = 300_000

/** Whether as many calls were asked for in this window as it has. Those that were told of a failure long ago do not count. */
export function mayBeUsedUp(
  truth: Truth,
  conditions: Conditions,
  window: string,
  asking: Pick<Asking, 'atMs'>,
): boolean {
  const fewest = Math.min(
    ...[false, true].map(isNew => termsAfter(conditions, isNew).windowCalls ?? Infinity),
  )
  if (fewest === Infinity) return false
  const others = truth.askings.filter(
    other =>
      other.window === window &&
      other !== asking &&
      !(other.reply && other.reply.status >= 400 && other.atMs + GIVEN_BACK_MS <= asking.atMs),
  )
  return others.length >= fewest - 1
}

/** What a process has not told the store when it dies, stands still or is cut off is the buyer's: see proof/storage.md. */
function checkCount({ truth, conditions, mayForgetCalls }: World, window: string): void {
  const most = Math.max(...[false, true].map(isNew => termsAfter(conditions, isNew).windowCalls ?? Infinity))
  const runs = truth.windows.get(window)?.runs.size ?? 0
  if (!mayForgetCalls && runs > most - 1)
    truth.violated('window-calls-counted', `a window of ${most} calls delivered ${runs + 1}`)
}

/** An answer that says nothing about money, where the call that it answers settled. */
function checkFailure(truth: Truth, { act, payment, atMs }: Asking, reply: WireReply): void {
  if (!payment || !reply.body.includes('"internal_error"')) return
  const settled = truth.calls.some(
    ({ id, txId, final }) => txId === payment.txId && final === 'settled' && truth.endedMs.get(id)! >= atMs,
  )
  if (settled)
    truth.violated('charged-is-told', `${act} paid ${payment.txId} and was told of an internal error`)
}
