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

const TAKE_OVERS = [overtaken, unheard]

export async function takenOver(stage: Stage): Promise<void> {
  await stage.dice.pick(TAKE_OVERS)(stage)
}
