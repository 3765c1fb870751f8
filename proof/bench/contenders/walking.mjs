/** One paid walk of the charge machine, from received to settled, with effects that only say what happened. */
import { createActor, initialTransition, transition } from 'xstate'
import { chargeMachine, chargeTable } from '../../../dist/src/domain/machines/charge.machine.js'
import { run } from '../../../dist/src/domain/state-machine/run-machine.js'
import { median } from '../table.mjs'
import { config } from './child.mjs'

const ANSWERS = {
  admit: 'admitted',
  open: 'opened',
  validate: 'valid',
  entitle: 'uncovered',
  price: 'presented',
  verify: 'verified',
  credit: 'credited',
  deliver: 'delivered',
  record: 'recorded',
  settle: 'settled',
}
const EVENTS = Object.values(ANSWERS).map(type => ({ type }))
/** Walks between two readings of the clock. */
const BATCH = 10

const effects = Object.fromEntries(Object.entries(ANSWERS).map(([name, event]) => [name, async () => event]))
const broke = (_, cause) => {
  throw cause
}
// The drawing names its effects; here the actor is not to run any.
const still = chargeMachine.provide({
  actions: Object.fromEntries(
    Object.keys(chargeMachine.implementations.actions ?? {}).map(name => [name, () => {}]),
  ),
})

const contenders = {
  'ours: run() over the table, async effects': async () =>
    (await run(chargeTable, effects, undefined, broke, () => performance.now())).final,
  'xstate transition()': () => {
    let [snapshot] = initialTransition(chargeMachine)
    for (const event of EVENTS) [snapshot] = transition(chargeMachine, snapshot, event)
    return snapshot.value
  },
  'xstate actor': () => {
    const actor = createActor(still).start()
    for (const event of EVENTS) actor.send(event)
    return actor.getSnapshot().value
  },
}

const found = Object.keys(contenders).map(name => ({ name, rounds: [] }))
for (let round = 0; round <= config.rounds; round++) {
  for (const { name, rounds: medians } of found) {
    const walk = contenders[name]
    const times = []
    const until = performance.now() + config.seconds * 1000
    while (performance.now() < until) {
      const start = performance.now()
      for (let at = 0; at < BATCH; at++) {
        const end = await walk()
        if (end !== 'settled') throw new Error(`${name} ended in ${end}`)
      }
      times.push(((performance.now() - start) * 1000) / BATCH)
    }
    // The first round warms up.
    if (round > 0) medians.push(median(times))
  }
}
process.send(found, () => process.exit())
