/**
 * When all is well again: every call on a balance is asked for once more, and what its buyers were told adds up with what is left to
 * what they paid. Nothing here asks the product's stores or counters: callers ask, and the chain says what was bought.
 */
import { Buyer } from '../parties/buyer.js'
import { originOf, pricesOf, takesBalance, type Work } from '../world/agents.js'
import { type Asking, type Balance, headerOf } from '../world/truth.js'
import type { WireReply, WireRequest } from '../world/wire.js'
import { type World, workRequest } from '../world/world.js'
import { isBalanceOpen, isStillKept, nameOf, runIn, unitsIn } from './balances.js'

const ASKING_MS = 120_000
const PAUSE_MS = 60_000
const TIMES_MAX = 5
/** What passes by itself, or is waited out. */
const PASSING =
  /"(rate_limited|too_many_unpaid_calls|idempotency_in_progress|charge_unknown|store_unavailable|superseded)"/
/** Above every price that a balance is asked for here. */
const MORE = 10_000

export async function balancesAtRest(world: World): Promise<void> {
  const { truth, timeline } = world
  const auditor = new Buyer(world, 'auditor')
  for (const [key, sold] of truth.balances) {
    // It may be gone, and so may what its calls cost: what was counted and forgotten was given away.
    if (truth.losses.balance(key)) continue
    const costs = await asksAgain(world, auditor, key)
    if (truth.violations.length > 0) return
    if (isBalanceOpen(world, sold, timeline.nowMs + TIMES_MAX * ASKING_MS))
      await addsUp(world, auditor, key, sold, costs)
    else if (costs.least > sold.bought && !world.mayForgetCalls)
      truth.violated('balances-add-up', `calls on a balance of ${sold.bought} were told ${costs.least}`)
  }
}

interface Costs {
  /** What the calls were told that they cost. */
  least: bigint
  /** With what those may have cost that were told nothing: streams that broke, and answers that are not kept. */
  most: bigint
}

/** Each call with its key, as it was asked. */
async function asksAgain(world: World, auditor: Buyer, key: string): Promise<Costs> {
  const { truth, conditions } = world
  const calls = new Map<string, Asking>()
  for (const asking of truth.askings) if (isCall(asking, key)) calls.set(nameOf(asking), asking)
  const costs = { least: 0n, most: 0n }
  for (const [name, asking] of calls) {
    const work = JSON.parse(asking.body) as Work
    const before = truth.costs.get(name)
    const ask = () => asked(world, auditor, asking.act, requestOf(asking, work, key))
    let reply = await ask()
    const run = reply && runIn(world, reply)
    // What a stream costs is told to whoever asks for it again.
    if (reply && reply.status < 400 && unitsIn(reply, 'x-svc-charged') === undefined) reply = await ask()
    if (reply && reply.status < 400 && unitsIn(reply, 'x-svc-charged') === undefined)
      truth.violated('counted-once', `${name} was answered twice, and nobody says what it cost`)
    const isNotKept = reply?.body.includes('"answer_not_kept"') === true
    if (isNotKept && isSellersBreak(world, name, work))
      truth.violated('counted-once', `${name} was counted, and its seller broke its stream`)
    const isKept = before && [...before.keys()].some(run => isStillKept(world, run))
    if (isKept && reply && reply.status >= 400 && !isNotKept)
      truth.violated(
        'counted-once',
        `${name} was counted, and asked again got ${reply.status} ${reply.body.slice(0, 200)}`,
      )
    const runs = [...(truth.costs.get(name)?.values() ?? [])]
    const told = runs.length > 0 ? runs : [(reply && unitsIn(reply, 'x-svc-charged')) ?? 0n]
    const sum = told.reduce((total, each) => total + each, 0n)
    costs.least += sum
    // What was told may be the cost of an earlier run: where a key is no longer kept, the same request runs again.
    const isTold = run ? truth.costs.get(name)?.has(run.id) === true : sum > 0n
    const { most } = pricesOf(asking.endpoint, work, conditions)
    costs.most += sum + most * BigInt((isNotKept && !isTold ? 1 : 0) + forgotten(world, asking, key))
  }
  return costs
}

/** A stream that breaks, and whose callers never hung up. */
function isSellersBreak({ truth }: World, name: string, { does, tale }: Work): boolean {
  return (
    does === 'return' &&
    tale?.ends === 'break' &&
    truth.askings.every(
      asking =>
        nameOf(asking) !== name || (!asking.isHungUp && (asking.reply !== undefined || asking.isLost)),
    )
  )
}

/** Runs of a call whose answers are kept no more, and that may have cost what nobody was told. One that was superseded cost nothing. */
function forgotten(world: World, asking: Asking, key: string): number {
  const { truth } = world
  const told = truth.costs.get(nameOf(asking))
  const superseded = new Set(
    truth.calls.flatMap(({ traceId, final }) => (final === 'superseded' ? [traceId] : [])),
  )
  return truth
    .runsOn(key)
    .filter(
      ({ id, returned, key: of, traceId }) =>
        returned &&
        of === asking.key &&
        !told?.has(id) &&
        !superseded.has(traceId) &&
        !isStillKept(world, id),
    ).length
}

function isCall({ balance, key, endpoint, payment }: Asking, of: string): boolean {
  return balance === of && key !== undefined && payment === undefined && takesBalance(endpoint)
}

function requestOf({ endpoint, key, maxCharge, address }: Asking, work: Work, balance: string): WireRequest {
  const headers = {
    'x-svc-balance-key': balance,
    'idempotency-key': key!,
    ...(maxCharge !== undefined && { 'x-svc-max-charge': maxCharge }),
  }
  return workRequest(endpoint, work, headers, address)
}

/** What is left, by a call that fails; whether all of it can be taken, by one that fails; and whether no more than that can. */
async function addsUp(
  world: World,
  auditor: Buyer,
  key: string,
  { bought, endpoint, txId }: Balance,
  costs: Costs,
) {
  const { truth } = world
  const isSister = originOf(endpoint) !== originOf('work')
  const probe = (units: number) => {
    const work = { act: 'auditor', does: 'throw', units } as const
    const headers = { 'x-svc-balance-key': key, 'idempotency-key': `auditor-asks-${txId}-for-${units}` }
    return asked(
      world,
      auditor,
      'auditor',
      workRequest(isSister ? 'sister/work' : 'metered', work, headers, auditor.address),
    )
  }
  const first = await probe(MORE)
  const left = first && unitsIn(first, 'x-svc-balance')
  if (left === undefined)
    return truth.violated(
      'balances-hold',
      `a balance of ${bought} says ${first?.status} ${first?.body.slice(0, 200)}, and not what is left`,
    )
  const [least, most] = [bought - costs.most, bought - costs.least]
  // What a process delivered after its lease had lapsed, and others had taken the rest, is the seller's loss.
  const isSellersLoss = left === 0n && world.mayForgetCalls
  if (left < least || (left > most && !isSellersLoss))
    truth.violated(
      'balances-add-up',
      `${bought} were bought by ${txId}, calls were told ${costs.least} to ${costs.most}, and ${left} are left`,
    )
  if (isSister || world.conditions.deploy === 'price' || left === 0n) return
  const all = await probe(Number(left))
  if (all?.status !== 500)
    truth.violated('balances-hold', `${left} are left, and a call for all of it got ${all?.status}`)
  const more = await probe(Number(left) + 1)
  if (more?.status !== 402)
    truth.violated('balances-open-their-own', `${left} are left, and a call for one more got ${more?.status}`)
}

async function asked(
  world: World,
  { process }: Buyer,
  act: string,
  request: WireRequest,
): Promise<WireReply | undefined> {
  const { timeline } = world
  let reply: WireReply | undefined
  for (let time = 0; time < TIMES_MAX; time++) {
    reply = undefined
    let isLost = false
    world.http(process, act, request).then(
      given => {
        reply = given
      },
      () => {
        isLost = true
      },
    )
    await timeline.run(timeline.nowMs + ASKING_MS, () => reply !== undefined || isLost)
    if (reply && !PASSING.test((reply as WireReply).body)) return reply
    await timeline.run(timeline.nowMs + PAUSE_MS)
  }
  if (reply)
    world.truth.violated(
      'ends-decided',
      `${act} asked on a balance at rest, and got ${reply.status} ${headerOf(reply, 'x-svc-balance')} ${reply.body.slice(0, 200)}`,
    )
  return reply
}
