/** What owners of balances do with them, and others with their keys. One act, of several, rolled from its name. */

import { sleep } from '../../../src/simulation-parts.js'
import { spending, withinCap, wordsHold } from '../invariants/spending.js'
import { ConnectionLost } from '../kernel/network.js'
import { type EndpointName, ORIGIN, type Purchase, type Work } from '../world/agents.js'
import { headerOf } from '../world/truth.js'
import type { WireReply, WireRequest } from '../world/wire.js'
import { type Act, expected, type Stage, workOf } from './acts.js'
import { askedFor, encodedOf, quotedAndSigned } from './asking.js'
import { Buyer } from './buyer.js'
import { type DoorCall, requestAt } from './doors.js'
import { runIn, STRANGERS_ADDRESS } from './paired.js'

const DOORS = ['http', 'http', 'http', 'fetch', 'message', 'mcp'] as const
const AMOUNTS = ['$0.03', '$0.03', '$0.10', '$1'] as const
const COVERED: readonly EndpointName[] = ['work', 'work', 'tale', 'tale', 'metered', 'units', 'research']

/** The key of a balance that is paid for; `undefined` where it was not sold. */
export async function balanceOf(
  stage: Stage,
  amount: Purchase['amount'],
  of: 'balance' | 'sister/balance' = 'balance',
  name = '',
): Promise<string | undefined> {
  const { act, buyer } = stage
  const work = { amount }
  const payment = await quotedAndSigned(stage, { payer: 'plain' }, of, work)
  if (!payment) return undefined
  const header = encodedOf(payment)
  const key = `random-key-of-${name}balance-of-${act}-32`
  const call = { endpoint: of, work, payment: header, key, address: buyer.address }
  const reply = await askedFor(stage, requestAt('http', call))
  return reply && headerOf(reply, 'x-svc-balance-key')
}

function workFor(stage: Stage): Work {
  const { dice } = stage
  const charge = dice.pick([undefined, undefined, 'less', 'less', 'wrong', 'caught'] as const)
  const tale = { ends: dice.pick(['whole', 'whole', 'break', 'never'] as const), ms: dice.span(1, 60_000) }
  const units = dice.between(1, 9)
  return { ...workOf(stage), units, ...(dice.chance(0.7) && { tale }), ...(charge && { charge }) }
}

/** Messages of A2A and MCP run no route of an app. */
export function anyDoor({ world, dice }: Stage) {
  return world.conditions.mount === 'gate' ? 'http' : dice.pick(DOORS)
}

/** One call of `work`, at its price. */
export function plainCall({ buyer, act }: Stage, balance: string, at: number, ms: number): DoorCall {
  const work = { act, does: 'return', ms } as const
  return { endpoint: 'work', work, balance, key: `call-${at}-of-${act}`, address: buyer.address }
}

/** One request of a call, whose caller may hang up after so long. */
export async function once(
  { world, buyer, act }: Stage,
  request: WireRequest,
  patienceMs?: number,
): Promise<WireReply | undefined> {
  try {
    return await world.http(buyer.process, act, request, { patienceMs })
  } catch (error) {
    if (error instanceof ConnectionLost) return undefined
    throw error
  }
}

/** Many calls at once and after each other, some of them twice under their keys, on less than they cost together. */
const spends: Act = async stage => {
  const { world, buyer, act, dice } = stage
  const isSister = world.conditions.agents === 'two' && dice.chance(0.3)
  const balance = await balanceOf(stage, dice.pick(AMOUNTS), isSister ? 'sister/balance' : 'balance')
  if (balance === undefined) return
  await Promise.all(
    Array.from({ length: dice.between(3, 12) }, async (_, at) => {
      const endpoint = isSister ? dice.pick(['sister/work', 'sister/tale'] as const) : dice.pick(COVERED)
      const maxCharge = dice.pick([undefined, undefined, '10000', '5000', '401'])
      const call = { endpoint, work: workFor(stage), balance, key: `call-${at}-of-${act}`, maxCharge }
      let patience = 4
      for (let times = dice.between(1, 3); times > 0; times--) {
        await sleep(buyer.process.clock, dice.span(1, dice.chance(0.5) ? 20 : 60_000))
        const patienceMs = dice.chance(0.2) ? dice.span(5, 40_000) : undefined
        const reply = await once(
          stage,
          requestAt(anyDoor(stage), { ...call, address: buyer.address }),
          patienceMs,
        )
        // Whoever has no answer yet asks again, as any client does.
        const isOpen = reply === undefined || reply.body.includes('"idempotency_in_progress"')
        if (isOpen && patience-- > 0) times++
        if (isOpen) await sleep(buyer.process.clock, dice.span(2_000, 30_000))
      }
    }),
  )
}

/** More calls at once than a balance has money for. */
const rush: Act = async stage => {
  const { world, buyer, act, dice } = stage
  const isCalm = world.fate.isOver
  const balance = await balanceOf(stage, '$0.03')
  if (balance === undefined) return
  const ms = dice.span(1, 5_000)
  const replies = await Promise.all(
    Array.from({ length: 8 }, async (_, at) => {
      await sleep(buyer.process.clock, dice.between(0, 20))
      return once(stage, requestAt(anyDoor(stage), plainCall(stage, balance, at, ms)))
    }),
  )
  const served = replies.filter(reply => reply && runIn(stage, reply)).length
  if (isCalm && served > 3 && !world.truth.losses.balance(balance))
    world.truth.violated('balances-add-up', `${act} had ${served} calls of a cent on a balance of three`)
}

/** Two balances of one buyer: one key, used on both, is two calls. */
const two: Act = async stage => {
  const { buyer, act, dice } = stage
  const balances = [await balanceOf(stage, '$0.03'), await balanceOf(stage, '$0.10', 'balance', 'second-')]
  const work = { act, does: 'return', ms: dice.span(1, 10_000), units: dice.between(1, 20_000) } as const
  for (const endpoint of ['metered', 'work', 'tale'] as const)
    await Promise.all(
      balances.map(async balance => {
        const call = { endpoint, work, key: `key-of-${act}`, address: buyer.address }
        if (balance !== undefined) await askedFor(stage, requestAt(anyDoor(stage), { ...call, balance }))
      }),
    )
}

/** Keys that open nothing: guessed ones, at another agent, at what takes no balance; and a payment beside one that does. */
const opensNothing: Act = async stage => {
  const { world, act } = stage
  const work: Work = { act, does: 'return', tale: { ends: 'whole', ms: 10 } }
  const balance = await balanceOf(stage, '$0.03')
  const payment = await quotedAndSigned(stage, { payer: 'plain' }, 'work', work)
  const asked = (call: Partial<DoorCall>) => {
    const whole = {
      endpoint: 'work',
      work,
      key: `key-of-${act}`,
      address: STRANGERS_ADDRESS,
      ...call,
    } as const
    return askedFor(stage, requestAt(anyDoor(stage), whole))
  }
  const guesses = [`svc_${'A'.repeat(43)}`, 'short', balance?.toUpperCase()]
  for (const guess of guesses) await asked({ balance: guess })
  if (balance === undefined) return
  if (world.conditions.agents === 'two') await asked({ endpoint: 'sister/work', balance })
  for (const endpoint of ['cash', 'feed'] as const) await asked({ endpoint, balance })
  await asked({ endpoint: 'balance', work: { amount: '$0.03' } as never, balance })
  const header = payment && encodedOf(payment)
  const both = header && (await asked({ balance, payment: header }))
  if (both && runIn(stage, both))
    world.truth.violated('balances-open-their-own', `${act} sent a payment and a balance, and was served`)
}

const CENT = 10_000n
const CAP = 6n * CENT

/**
 * The real client: it buys, calls, tops up by itself within its cap; and dies with its ledger, which another one takes over. Its seller
 * may forget the balance.
 */
const byClient: Act = async stage => {
  const { world, buyer, act, dice } = stage
  const name = `${buyer.name} prepaid`
  world.fund(name)
  const options = {
    maxPerDay: '$0.06',
    maxPrice: '$0.03',
    topUp: { below: '$0.01', amount: '$0.03' },
  } as const
  const first = new Buyer(world, name, options)
  first.act = act
  const isMortal = dice.chance(0.4)
  const buying = expected(stage, first.client.topUp(ORIGIN, '$0.03'), { by: first })
  if (isMortal) await sleep(buyer.process.clock, dice.between(10, 3_000))
  else await buying
  if (isMortal) first.process.die()
  const client = isMortal ? new Buyer(world, name, { ...options, ledger: first.ledger }) : first
  client.act = act
  if (isMortal) await expected(stage, client.client.topUp(ORIGIN, '$0.03'), { by: client })
  const forgets = world.fate.dice(`${act}.forgets`)
  for (let times = dice.between(2, 6); times > 0; times--) {
    if (forgets.chance(0.2)) world.seller.forget(forgets)
    const endpoint = dice.pick(['work', 'tale', 'metered', 'units'] as const)
    await expected(stage, client.client.call(`${ORIGIN}/${endpoint}`, workFor(stage)), { by: client })
    await sleep(buyer.process.clock, dice.span(10, 30_000))
  }
  world.checkLater(() => {
    withinCap(stage, client.signer.address, CAP)
    spending(world, [client])
    wordsHold(world, [client])
  })
}

/** Calls on a balance until after it has ended. */
const untilItEnds: Act = async stage => {
  const { world, buyer, dice } = stage
  const balance = await balanceOf(stage, '$0.10')
  const sold = balance === undefined ? undefined : world.truth.balances.get(balance)
  if (!sold || world.conditions.balancePeriod !== SHORT_PERIOD) return
  for (let times = 0; times < 6; times++) {
    await askedFor(stage, requestAt(anyDoor(stage), plainCall(stage, balance!, times, dice.span(1, 20_000))))
    await sleep(buyer.process.clock, 120_000)
  }
}

export const SHORT_PERIOD = '60s'

const ACTS_ON_BALANCE = [
  spends,
  spends,
  spends,
  rush,
  rush,
  two,
  opensNothing,
  byClient,
  byClient,
  untilItEnds,
]

export async function onBalance(stage: Stage): Promise<void> {
  await stage.dice.pick(ACTS_ON_BALANCE)(stage)
}
