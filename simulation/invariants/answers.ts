/** What is checked of every reply, when it is heard. */

import { decodeAnswerHeader } from '../../src/domain/x402.js'
import type { Ledger } from '../../src/sandbox/ledger.js'
import { EPOCH_MS } from '../kernel/process.js'
import { type Asking, headerOf, type Truth, type Window } from '../world/truth.js'
import type { WireReply } from '../world/wire.js'
import type { World } from '../world/world.js'

export function checkReply({ truth, ledger, seller }: World, asking: Asking, reply: WireReply): void {
  if (reply.status >= 200 && reply.status < 400)
    checkAnswer(truth, ledger, asking, reply, seller.windowsSkewMs)
  if (reply.status === 402) checkQuote(truth, ledger, asking)
  if (reply.status === 402) checkWindow(truth, asking)
  if (reply.status >= 500) checkFailure(truth, asking, reply)
}

function checkAnswer(truth: Truth, ledger: Ledger, asking: Asking, reply: WireReply, skewMs: number): void {
  const { act, payment, window } = asking
  const receipt = decodeAnswerHeader(headerOf(reply, 'payment-response') ?? '')
  const txId = receipt?.transaction as string | undefined
  const run = truth.handlerRuns[Number(/\\?"run\\?":(\d+)/.exec(reply.body)?.[1]) - 1]
  if (!run) return void truth.violated('the-right-answer', `${act} got an answer of no run: ${reply.body}`)
  if (txId === undefined) {
    const sold = window === undefined ? undefined : truth.windows.get(window)
    if (!sold || !ledger.landed(sold.txId))
      truth.violated('no-answer-without-payment', `${act} got run ${run.id} for nothing`)
    return
  }
  const key = headerOf(reply, 'x-svc-subscription')
  const expiresAtMs = Date.parse(headerOf(reply, 'x-svc-subscription-expires') ?? '') - skewMs
  if (key !== undefined) truth.windows.set(key, { txId, expiresAtMs })
  if (!ledger.landed(txId))
    truth.violated('no-answer-without-payment', `${act} got run ${run.id} for ${txId}, which has not landed`)
  if (run.txId !== txId || !run.returned)
    truth.violated('the-right-answer', `${act} got run ${run.id} of ${run.txId} under ${txId}`)
  if (JSON.parse(asking.body || '{}').act !== run.act)
    truth.violated('the-right-answer', `${act} got the answer of ${run.act}`)
  const isReplay = headerOf(reply, 'idempotency-replayed') === 'true'
  if (!isReplay && payment && payment.txId !== txId)
    truth.violated('the-right-answer', `${act} paid ${payment.txId} and got ${txId}`)
  const first = truth.delivered.get(txId) ?? run.id
  truth.delivered.set(txId, first)
  if (first !== run.id) truth.violated('one-answer-a-payment', `${txId} got runs ${first} and ${run.id}`)
}

function checkQuote(truth: Truth, ledger: Ledger, { act, payment, endpoint, atMs }: Asking): void {
  const landed = payment && ledger.landed(payment.txId)
  if (!landed || truth.byPayer.has(payment.txId)) return
  const settled = truth.settles.find(({ txId }) => txId === payment.txId)
  const run = truth.handlerRuns.find(each => each.txId === payment.txId && each.endpoint === endpoint)
  // One that was sent to be settled before this request began, by this endpoint, and landed at once or later.
  if (!settled || !run || settled.atMs > atMs || landed.landedAt * 1_000 > EPOCH_MS + atMs) return
  truth.violated('not-quoted-again', `${act} was quoted again for ${payment.txId}, which had landed`)
}

/** How long a request may take to arrive. */
const ARRIVAL_MS = 120_000

/** Whether a request that is sent now arrives while the window is open. */
export function isWindowOpen({ expiresAtMs }: Window, atMs: number): boolean {
  return expiresAtMs >= EPOCH_MS + atMs + ARRIVAL_MS
}

function checkWindow(truth: Truth, { act, window, endpoint, atMs, payment }: Asking): void {
  const sold = window === undefined || payment ? undefined : truth.windows.get(window)
  if (!sold || endpoint !== 'feed' || !isWindowOpen(sold, atMs)) return
  truth.violated('windows-hold', `${act} was quoted in a window that it had paid for with ${sold.txId}`)
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
