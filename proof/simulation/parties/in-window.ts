/** What an owner of a window that counts calls does with it: hangs up again and again, and asks for more than it bought. */

import { OUTCOMES } from '../../../src/index.js'
import { sleep } from '../../../src/simulation-parts.js'
import { headerOf } from '../world/truth.js'
import type { Act, Stage } from './acts.js'
import { askedFor, encodedOf, quotedAndSigned } from './asking.js'
import { type DoorCall, requestAt } from './doors.js'
import { anyDoor, once } from './on-balance.js'
import { runIn } from './paired.js'

const HANG_UPS_MAX = 12
/** More than a window has calls left. Whoever is refused asks again. */
const CALLERS = 4
const ASKING_MS = 80_000

export const inWindow: Act = async stage => {
  const { world, buyer, act, dice } = stage
  if (world.conditions.windowCalls === undefined) return
  const { truth } = world
  const isCalm = world.fate.isOver
  const lostSoFar = () => truth.losses.count + truth.deaths
  const lost = lostSoFar()
  const endpoint = dice.pick(['feed', 'vault', 'vault'] as const)
  const address = buyer.address
  const payment = await quotedAndSigned(stage, { payer: 'plain' }, endpoint, { act, does: 'return' })
  const sale = payment && {
    ...{ endpoint, work: { act, does: 'return' }, address, payment: encodedOf(payment) },
    key: `random-key-of-window-of-${act}-32`,
  }
  const sold = sale && (await askedFor(stage, requestAt('http', sale as DoorCall)))
  const window = sold && headerOf(sold, 'x-svc-subscription')
  if (window === undefined) return
  const left = Number(headerOf(sold!, 'x-svc-subscription-remaining'))
  const called = (does: 'return' | 'stall', ms: number, patienceMs?: number) => {
    const call = { endpoint, work: { act, does, ms }, window, address } as const
    return once(stage, requestAt(anyDoor(stage), call), patienceMs)
  }
  // Often one run of its credit is left, for which the calls that follow wait.
  const { creditStart } = world.conditions
  const most =
    creditStart !== undefined && dice.chance(0.75) ? creditStart - 1 : dice.between(1, HANG_UPS_MAX)
  for (let times = most; times > 0; times--) await called('stall', 1, dice.span(200, 3_000))
  const untilMs = world.timeline.nowMs + ASKING_MS
  const callUntilServed = async () => {
    const ms = dice.chance(0.8) ? dice.between(15_000, 29_000) : dice.span(1, 10_000)
    for (;;) {
      await sleep(buyer.process.clock, dice.between(0, 15_000))
      if (world.timeline.nowMs > untilMs) return false
      const reply = await called('return', ms, dice.chance(0.1) ? dice.span(200, 30_000) : undefined)
      if (reply && runIn(stage, reply)) return true
    }
  }
  const ended = await Promise.all(Array.from({ length: CALLERS }, callUntilServed))
  const served = ended.filter(isServed => isServed).length
  // What a store or a process lost of its counts is the buyer's.
  if (isCalm && lost === lostSoFar() && served > left)
    truth.violated('window-calls-counted', `${act} had ${served} calls of a window with ${left} left`)
  world.checkLater(() => runsOnCredit(stage))
}

/** What it hung up on ran no more often than its credit allows: each run that was paid for earned one more. */
function runsOnCredit({ world, act }: Stage): void {
  const { truth, conditions } = world
  if (conditions.creditStart === undefined) return
  const finals = new Map(truth.calls.map(({ traceId, final }) => [traceId, final]))
  const ends = truth.handlerRuns.flatMap(run => {
    const final = run.act === act && run.txId === undefined && finals.get(run.traceId)
    return final ? [OUTCOMES[final].credit] : []
  })
  const [unpaid, earned] = (['spent', 'earned'] as const).map(
    credit => ends.filter(end => end === credit).length,
  ) as [number, number]
  const most = (conditions.creditStart + earned) * (1 + truth.losses.count)
  if (unpaid > most)
    truth.violated('unpaid-runs-bounded', `${act} had ${unpaid} unpaid runs in its window, of ${most}`)
}
