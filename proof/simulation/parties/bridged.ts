/** A program that pays for a host that cannot (`svc mcp`): the host cancels calls and makes them again, as models do. */

import { SvcError } from '../../../src/index.js'
import { bridgeTo, sleep } from '../../../src/simulation-parts.js'
import { withinCap } from '../invariants/spending.js'
import { ORIGIN } from '../world/agents.js'
import { prefixOf } from '../world/mounts.js'
import type { Act } from './acts.js'
import { Buyer } from './buyer.js'
import { runIn } from './paired.js'

const CALLS = 4
const CENT = 10_000n
/** What was paid for and not had is owed for ten minutes. */
const SOON_MS = 30_000

/** The price may rise after the host has read the list of tools. */
export const bridged: Act = async stage => {
  const { world, buyer, act, dice } = stage
  const payer = new Buyer(world, `${buyer.name} bridge`, { maxPerDay: '$0.06' })
  payer.act = act
  world.fund(payer.name)
  const bridge = await bridgeTo(ORIGIN + prefixOf(world.conditions.mount), payer.client).catch(refusedOnly)
  if (!bridge) return
  if (world.conditions.deploy === 'price') world.seller.deploy()
  const name = dice.pick(['work', 'research'] as const)
  if (!bridge.tools.some(tool => tool.name === name)) return
  const ms = dice.chance(0.5) ? dice.span(1, 20_000) : undefined
  const does = dice.pick(['return', 'return', 'return', 'throw', 'much'] as const)
  const args = { act, does, ...(ms !== undefined && { ms }) }
  /** The runs of answers that the host got, and how often it got nothing because it did not wait. */
  const had: (number | undefined)[] = []
  let cancelled = 0
  for (let time = 0; time < CALLS; time++) {
    const host = new AbortController()
    const asked = bridge.call({ name, args, meta: {}, signal: host.signal })
    const isPatient = dice.chance(0.5) || time === CALLS - 1
    if (!isPatient) payer.process.clock.after(dice.span(5, 20_000), () => host.abort())
    const given = new Promise<undefined>(resolve =>
      host.signal.addEventListener('abort', () => resolve(undefined)),
    )
    const result = await Promise.race([asked, given])
    if (result === undefined) cancelled++
    else if (!result.isError)
      had.push(runIn(stage, { status: 200, headers: [], body: JSON.stringify(result) })?.id)
    await sleep(payer.process.clock, dice.span(5, SOON_MS))
  }
  world.trace(`${act} had runs ${had.join(' ')} and cancelled ${cancelled}`)
  if (new Set(had).size < had.length)
    world.truth.violated('the-right-answer', `${act} asked anew and had runs ${had.join(' ')}`)
  // Each call may pay once; one that was cancelled leaves its answer to the next.
  world.checkLater(() => withinCap(stage, payer.signer.address, 6n * CENT, BigInt(CALLS - cancelled)))
}

function refusedOnly(error: unknown): undefined {
  if (!(error instanceof SvcError)) throw error
}
