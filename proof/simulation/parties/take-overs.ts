/** Calls whose process stands still or dies at the moment that matters, so that the same call at another replica takes them over. */
import { sleep } from '../../../src/simulation-parts.js'
import { headerOf } from '../world/truth.js'
import { type Act, proofOf, type Stage, workOf } from './acts.js'
import { askedFor, encodedOf, quotedAndSigned } from './asking.js'
import { requestAt } from './doors.js'
import { balanceOf, once, plainCall } from './on-balance.js'
import { runIn } from './paired.js'

/** Not for as long as the process stands still that is asked. */
const PATIENCE_MS = 6_000
const TIMES_MAX = 12
/** So often there may be a replica again: within a minute. */
const AGAIN_MS = 5_000
/** A lease is 15 s. */
const LAPSED_MS = 16_000

/** Two calls on a balance, each of which would be counted when another one has its key. */
const overtaken: Act = async stage => {
  const { world, buyer, act, dice } = stage
  const balance = await balanceOf(stage, '$0.10')
  if (balance === undefined) return
  for (let at = 0; at < 2; at++) {
    world.want('count', `${act}.count${at}`)
    const call = requestAt('http', plainCall(stage, balance, at, dice.span(1, 3_000)))
    for (let times = 0; times < TIMES_MAX; times++) {
      const reply = await once(stage, call, PATIENCE_MS)
      if (reply && runIn(stage, reply)) break
      await sleep(buyer.process.clock, dice.span(500, 5_000))
    }
  }
}

/** A payment without a key whose answer nobody hears: its first call dies while it settles, and whoever asks next hangs up. */
const unheard: Act = async stage => {
  const { world, buyer, act, dice } = stage
  const work = { ...workOf(stage), does: 'return', ms: 1 } as const
  const payment = await quotedAndSigned(stage, { payer: 'plain' }, 'work', work)
  if (!payment) return
  world.want('settle', `${act}.settle`)
  const call = { endpoint: 'work', work, payment: encodedOf(payment), address: buyer.address } as const
  await once(stage, requestAt('http', call), PATIENCE_MS)
  await sleep(buyer.process.clock, LAPSED_MS)
  for (let times = dice.between(1, 2); times > 0; times--) {
    await once(stage, requestAt('http', call), dice.span(5, 60))
    await sleep(buyer.process.clock, dice.span(500, 5_000))
  }
}

/**
 * A window or a balance whose process stands still while it records the sale, so that its caller hangs up; the same payment at another
 * replica, which settles it; and what was sold is used until the first process has ended its call, and after that.
 */
export const soldAgain: Act = async stage => {
  const { world, buyer, act, dice } = stage
  const isWindow = dice.chance(0.5)
  const endpoint = isWindow ? 'feed' : 'balance'
  const work = isWindow ? ({ act, does: 'return', ms: 1 } as const) : { amount: '$0.03' }
  const payment = await quotedAndSigned(stage, { payer: 'plain' }, endpoint, work)
  if (!payment) return
  world.want('sale', `${act}.sale`, payment.txId)
  // A seller whose clock is off refuses each proof.
  const proof = world.conditions.skewMs > 0 ? undefined : proofOf(buyer, payment)
  const key = `random-key-of-sale-of-${act}-of-32`
  const sale = { endpoint, work, payment: encodedOf(payment), key, proof, address: buyer.address } as const
  let sold: string | undefined
  for (let times = 0; sold === undefined && times < TIMES_MAX; times++) {
    const reply = await once(stage, requestAt('http', sale), PATIENCE_MS)
    sold = reply && headerOf(reply, isWindow ? 'x-svc-subscription' : 'x-svc-balance-key')
    await sleep(buyer.process.clock, dice.span(500, 5_000))
  }
  if (sold === undefined) return
  for (let times = 0; times < USED; times++) {
    const used = { endpoint, work, window: sold, address: buyer.address } as const
    await once(stage, requestAt('http', isWindow ? used : plainCall(stage, sold, times, 1)), PATIENCE_MS)
    await sleep(buyer.process.clock, LAPSED_MS)
  }
}

/** As often as it was paid for. */
const USED = 3

/** From now on no replica confirms a write, until one takes over: as soon as there is one. */
async function split({ world, buyer, act }: Stage): Promise<void> {
  const dice = world.fate.strike(`${act}.split`, 1, world.timeline.nowMs)
  for (let times = 0; dice && !world.fate.isOver && !world.seller.part(dice) && times < TIMES_MAX; times++)
    await sleep(buyer.process.clock, AGAIN_MS)
}

/** Whoever is refused buys again. */
async function boughtSoon(buy: (name: string) => Promise<string | undefined>): Promise<string | undefined> {
  for (const name of ['', 'second-', 'third-', 'fourth-']) {
    const key = await buy(name)
    if (key !== undefined) return key
  }
  return undefined
}

/**
 * Calls on a balance that was just bought, which begin a moment before no replica confirms a write any more, or a moment after; the same
 * calls at the replica that has taken over, where they fail or find too little, which another call has reserved; and the old primary, which
 * may have counted them, takes over again.
 */
const parted: Act = async stage => {
  const { buyer, act, dice } = stage
  const isFailing = dice.chance(0.5)
  const balance = await boughtSoon(name => balanceOf(stage, isFailing ? '$0.10' : '$0.03', 'balance', name))
  if (balance === undefined) return
  const call = (name: string, does: 'once' | 'return', ms: number) =>
    requestAt('http', {
      endpoint: 'metered',
      work: { act: `${act} ${name}`, does, ms, units: UNITS },
      balance,
      key: `${name}-call-of-${act}`,
      address: buyer.address,
    })
  const calls = isFailing
    ? ['first', 'second', 'third'].map(name => call(name, 'once', dice.span(50, 3_000)))
    : [call('first', 'return', dice.span(50, 3_000))]
  const other = call('other', 'return', OTHER_MS)
  const ask = () => Promise.all(calls.map(each => once(stage, each, PATIENCE_MS)))
  const isBegun = dice.chance(0.3)
  if (!isBegun) await split(stage)
  const begun = ask()
  if (isBegun) {
    await sleep(buyer.process.clock, dice.span(1, 3_000))
    await split(stage)
  }
  await begun
  const others: Promise<unknown>[] = []
  for (let times = 0; times < TIMES_MAX; times++) {
    if (!isFailing) others.push(once(stage, other))
    await sleep(buyer.process.clock, dice.span(500, 5_000))
    await ask()
  }
  await Promise.all(others)
}

/** A window that is sold a moment before no replica confirms a write, or a moment after, and is used at whichever server is asked. */
const soldThenParted: Act = async stage => {
  const { buyer, act, dice } = stage
  const isSold = dice.chance(0.7)
  const work = { act, does: 'return', ms: dice.span(1, 1_000) } as const
  const call = { endpoint: 'feed', work, address: buyer.address } as const
  if (!isSold) await split(stage)
  const window = await boughtSoon(async name => {
    const payment = await quotedAndSigned(stage, { payer: 'plain' }, 'feed', work)
    if (!payment) return undefined
    const key = `random-key-of-${name}window-of-${act}-of-32`
    const reply = await askedFor(stage, requestAt('http', { ...call, payment: encodedOf(payment), key }))
    return reply && headerOf(reply, 'x-svc-subscription')
  })
  if (window === undefined) return
  if (isSold) await split(stage)
  for (let times = 0; times < TIMES_MAX; times++) {
    await once(stage, requestAt('http', { ...call, window }), PATIENCE_MS)
    await sleep(buyer.process.clock, dice.span(500, 5_000))
  }
}

/** More than half of what the smaller balance has. */
const UNITS = 20_000
/** Less than a handler may take. */
const OTHER_MS = 25_000

/** What happens where the servers of a store lose each other. */
export async function parts(stage: Stage): Promise<void> {
  await stage.dice.pick([parted, parted, parted, soldThenParted])(stage)
}

export async function takenOver(stage: Stage): Promise<void> {
  await stage.dice.pick([overtaken, unheard])(stage)
}
