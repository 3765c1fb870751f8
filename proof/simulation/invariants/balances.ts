/** What is checked of every reply to a call on a balance, when it is heard: what opened, what was taken, and what that was for. */
import { decodeAnswerHeader } from '../../../src/simulation-parts.js'
import { type Conditions, promisedMode } from '../conditions.js'
import { EPOCH_MS } from '../kernel/process.js'
import { type EndpointName, LESS, originOf, pricesOf, takesBalance, type Work } from '../world/agents.js'
import { type Asking, type Balance, headerOf, type Run } from '../world/truth.js'
import type { WireReply } from '../world/wire.js'
import type { World } from '../world/world.js'

/** A run may begin so long after its balance has ended: its request had reserved, or it was on its way. */
const LATE_MS = 180_000

/** A key comes with the answer that sold it. What it is worth is what has landed. */
export function learnBalance({ truth, ledger }: World, asking: Asking, reply: WireReply): void {
  const key = headerOf(reply, 'x-svc-balance-key')
  if (key === undefined) return
  const { act, endpoint } = asking
  const txId = decodeAnswerHeader(headerOf(reply, 'payment-response') ?? '')?.transaction as string
  const landed = ledger.landed(txId)
  if (!landed)
    return void truth.violated(
      'no-answer-without-payment',
      `${act} got a balance for ${txId}, which has not landed`,
    )
  for (const [other, sold] of truth.balances)
    if (sold.txId === txId && other !== key)
      truth.violated('one-answer-a-payment', `${txId} bought two balances`)
  const expiresAtMs = Date.parse(headerOf(reply, 'x-svc-balance-expires') ?? '')
  truth.balances.set(key, { txId, endpoint, bought: landed.amount, expiresAtMs })
}

export function checkOnBalance(world: World, asking: Asking, reply: WireReply): void {
  const { truth, ledger, seller } = world
  const { act, endpoint, balance: key } = asking
  const sold = truth.balances.get(key!)
  if (reply.status === 402) return void checkRefusal(world, asking)
  if (reply.status >= 400) return
  const run = runIn(world, reply)
  if (!run) return void truth.violated('the-right-answer', `${act} got an answer of no run: ${reply.body}`)
  if (!sold || !ledger.landed(sold.txId) || originOf(sold.endpoint) !== originOf(endpoint))
    return void truth.violated('balances-open-their-own', `${act} got ${run.endpoint} by ${soldAs(sold)}`)
  if (run.atMs + EPOCH_MS > sold.expiresAtMs - seller.skewMs.least + LATE_MS)
    truth.violated('balances-open-their-own', `${act} got run ${run.id} on a balance that had ended`)
  if (run.act !== (JSON.parse(asking.body || '{}') as Work).act || run.endpoint !== endpoint || !run.returned)
    truth.violated(
      'the-right-answer',
      `${act} asked ${endpoint} on a balance and got run ${run.id} of ${run.act}`,
    )
  checkCost(world, asking, reply, run)
}

function soldAs(sold: Balance | undefined): string {
  return sold ? `a balance that ${sold.endpoint} sold` : 'the key of no balance'
}

export function runIn({ truth }: World, { body }: WireReply): Run | undefined {
  return truth.handlerRuns[Number(/\\?"run\\?":(\d+)/.exec(body)?.[1]) - 1]
}

/** What was taken is what the handler said, else the price; and what was agreed is the most. */
function checkCost(world: World, asking: Asking, reply: WireReply, run: Run): void {
  const { truth, conditions } = world
  const { act, endpoint, maxCharge } = asking
  const work = JSON.parse(asking.body) as Work
  const [charged, reserved] = ['x-svc-charged', 'x-svc-reserved'].map(name => unitsIn(reply, name))
  const taken = charged ?? reserved
  const { least, most } = pricesOf(endpoint, work, conditions)
  const told = `${act}: run ${run.id} at ${endpoint} took ${taken} of ${least} to ${most}`
  if (taken === undefined) return void truth.violated('counted-once', `${told}: nothing was said`)
  if (work.charge === 'wrong' || work.charge === 'caught')
    return void truth.violated('counted-once', `${told}, and its handler said no cost`)
  const isFair =
    charged !== undefined && work.charge === 'less' ? charged === LESS.units : isPrice(taken, least, most)
  if (!isFair) truth.violated('counted-once', told)
  // A replay costs nothing: it says what the first call cost, which may have agreed to more.
  const isReplay = headerOf(reply, 'idempotency-replayed') === 'true'
  if (!isReplay && maxCharge !== undefined && taken > BigInt(maxCharge))
    truth.violated('counted-once', `${told}, under a limit of ${maxCharge}`)
  if (charged !== undefined) noteCharge(world, asking, run, charged)
}

function isPrice(taken: bigint, least: bigint, most: bigint): boolean {
  return taken === least || taken === most
}

/** A quote, or that its handler failed. */
const tookNothing = ({ status, body }: WireReply) => status === 402 || body.includes('"handler_error"')

/** A run is told to cost the same, whenever it is told; and a key has one run, for as long as it is kept. */
function noteCharge({ truth, conditions }: World, asking: Asking, run: Run, charged: bigint): void {
  const name = nameOf(asking)
  const costs = truth.costs.get(name) ?? new Map<number, bigint>()
  truth.costs.set(name, costs)
  const before = costs.get(run.id)
  if (before !== undefined && before !== charged)
    truth.violated('counted-once', `${name}: run ${run.id} cost ${before}, and then ${charged}`)
  costs.set(run.id, charged)
  const freed = truth.askings.find(
    each =>
      nameOf(each) === name &&
      each.atMs > run.atMs &&
      each.reply &&
      tookNothing(each.reply) &&
      !truth.losses.isRestored(run.atMs, each),
  )
  if (freed && charged > 0n)
    truth.violated(
      'told-not-charged',
      `${name} cost ${charged} for run ${run.id}, after which it was told ${freed.reply!.status}`,
    )
  const kept = [...costs.keys()].filter(id => run.atMs - truth.handlerRuns[id - 1]!.atMs < keptMs(conditions))
  if (kept.length > 1 && !truth.losses.balance(asking.balance!))
    truth.violated('counted-once', `${name} was counted for the runs ${kept.join(' and ')}`)
}

/** Whether the answer of this run is promised to whoever asks for it again now. */
export function isStillKept({ truth, timeline, conditions }: World, run: number): boolean {
  return timeline.nowMs - truth.handlerRuns[run - 1]!.atMs < keptMs(conditions) - ARRIVAL_MS
}

/** As the documents say: where keys do not count otherwise, ten minutes. */
function keptMs(conditions: Conditions): number {
  return promisedMode(conditions) === undefined ? 600_000 : Number.POSITIVE_INFINITY
}

/** A call, whichever of its requests is asked. */
export function nameOf({ balance, endpoint, key, body }: Asking): string {
  return JSON.stringify([balance, endpoint, key, body])
}

export function unitsIn(reply: WireReply, header: string): bigint | undefined {
  const text = headerOf(reply, header)
  return text !== undefined && /^\d+$/.test(text) ? BigInt(text) : undefined
}

/** How long a request may take to arrive. */
const ARRIVAL_MS = 120_000

export function isBalanceOpen({ seller }: World, { expiresAtMs }: Balance, atMs: number): boolean {
  return expiresAtMs - seller.skewMs.most >= EPOCH_MS + atMs + ARRIVAL_MS
}

/** Longer than a request is on its way, its handler runs and its lease lasts. */
const RESERVED_MS = 300_000

/** A quote, where the balance had enough for this call and for all others that ran on it, or that were under way beside it. */
function checkRefusal(world: World, asking: Asking): void {
  const { truth, conditions } = world
  const { act, balance, endpoint, body, maxCharge, atMs } = asking
  const sold = truth.balances.get(balance!)
  if (!sold || originOf(sold.endpoint) !== originOf(endpoint) || !isBalanceOpen(world, sold, atMs)) return
  if (truth.losses.balance(balance!)) return
  const most = (at: EndpointName, work: Work) => pricesOf(at, work, conditions).most
  const price = most(endpoint, JSON.parse(body || '{}'))
  if (maxCharge !== undefined && price > BigInt(maxCharge)) return
  const ran = truth.runsOn(balance!)
  // A request that nobody answered, or for which the store did not, may have reserved until its lease has ended. An upstream that
  // failed has no run.
  const mayHold = ({ reply, heardMs, atMs: sinceMs }: Asking) =>
    reply === undefined ||
    heardMs! >= atMs ||
    // Tools have no status of their own.
    ((reply.status === 503 || reply.body.includes('"store_unavailable"')) && atMs - sinceMs < RESERVED_MS)
  const others = truth.askings.filter(
    each => each !== asking && each.balance === balance && takesBalance(each.endpoint) && mayHold(each),
  )
  const used = [
    ...ran.map(run => most(run.endpoint, run.work)),
    ...others.map(each => most(each.endpoint, JSON.parse(each.body || '{}'))),
  ].reduce((sum, each) => sum + each, 0n)
  if (sold.bought - used >= price)
    truth.violated(
      'balances-hold',
      `${act} was quoted ${price} on a balance of ${sold.bought}, of which ${used} at most were used`,
    )
}
