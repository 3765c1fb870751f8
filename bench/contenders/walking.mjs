/** One paid walk of the charge machine, from received to settled, with effects that only say what happened. */
import { createActor, initialTransition, transition } from 'xstate'
import { chargeMachine, chargeTable } from '../../dist/src/domain/machines/charge.machine.js'
import { run } from '../../dist/src/domain/run.js'
import { config } from './child.mjs'

const ANSWERS = {
  admit: 'admitted',
  open: 'opened',
  validate: 'valid',
  entitle: 'uncovered',
  price: 'presented',
  verify: 'verified',
  deliver: 'delivered',
  record: 'recorded',
  settle: 'settled',
}
const EVENTS = Object.values(ANSWERS).map(type => ({ type }))
const BATCH = 100

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
    (await run(chargeTable, effects, undefined, broke)).final,
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
  for (const { name, rounds } of found) {
    const walk = contenders[name]
    const start = performance.now()
    let count = 0
    for (; performance.now() - start < config.seconds * 1000; count += BATCH) {
      for (let at = 0; at < BATCH; at++) {
        const end = await walk()
        if (end !== 'settled') throw new Error(`${name} ended in ${end}`)
      }
    }
    // The first round warms up.
    if (round > 0) rounds.push(((performance.now() - start) * 1000) / count)
  }
}
process.send(found, () => process.exit())
