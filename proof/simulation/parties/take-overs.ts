/** Calls whose process stands still or dies at the moment that matters, so that the same call at another replica takes them over. */
import { sleep } from '../../../src/parts.js'
import { type Act, type Stage, workOf } from './acts.js'
import { encodedOf, quotedAndSigned } from './asking.js'
import { requestAt } from './doors.js'
import { balanceOf, once, plainCall } from './on-balance.js'
import { runIn } from './paired.js'

/** Not for as long as the process stands still that is asked. */
const PATIENCE_MS = 6_000
const TIMES_MAX = 12
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
 * A call on a balance while no replica confirms a write; the same call at the replica that has taken over, where it fails or finds too
 * little, which another call has reserved; and the old primary, which may have counted it, takes over again.
 */
const parted: Act = async stage => {
  const { world, buyer, act, dice } = stage
  const balance = await balanceOf(stage, '$0.03')
  if (balance === undefined) return
  const isFailing = dice.chance(0.5)
  const ms = dice.span(50, 3_000)
  const call = (name: string, does: 'once' | 'return', ms: number) =>
    requestAt('http', {
      endpoint: 'metered',
      work: { act: `${act} ${name}`, does, ms, units: UNITS },
      balance,
      key: `${name}-call-of-${act}`,
      address: buyer.address,
    })
  const first = call('first', isFailing ? 'once' : 'return', ms)
  const begun = once(stage, first, PATIENCE_MS)
  await sleep(buyer.process.clock, dice.between(1, ms))
  const split = world.fate.strike(`${act}.split`, 1, world.timeline.nowMs)
  if (split) world.seller.part(split)
  await begun
  const other = isFailing ? undefined : once(stage, call('other', 'return', OTHER_MS))
  for (let times = 0; times < TIMES_MAX; times++) {
    await sleep(buyer.process.clock, dice.span(500, 5_000))
    await once(stage, first, PATIENCE_MS)
  }
  await other
}

/** More than half of what the balance has. */
const UNITS = 20_000
/** Less than a handler may take. */
const OTHER_MS = 25_000

export async function takenOver(stage: Stage): Promise<void> {
  const isParted = stage.world.conditions.forgets === 'waited'
  await stage.dice.pick([overtaken, unheard, ...(isParted ? [parted, parted] : [])])(stage)
}
