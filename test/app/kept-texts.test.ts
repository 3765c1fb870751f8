/** What is kept of a call keeps no long text alive: V8's `slice` is a view of the whole. */
import { expect, it } from 'vitest'
import { endedCall, outcomeOf } from '../../src/app/charge/call-outcome.js'
import { Cancellation, contextOf } from '../../src/app/charge/make-handler-context.js'
import { scene } from '../support/charge-fixture.js'
import { full, walked } from '../support/ended-call.js'
import { heapBytes } from '../support/heap-bytes.js'

const CALLS = 40
const LENGTH = 500_000
const longText = (at: number) => `${at}, `.repeat(LENGTH).slice(0, LENGTH)

it.each([
  ['the error of a handler', keptOfError],
  ['a message that a handler logs', (at: number) => keptOfLog(longText(at))],
  ['the data that a handler logs', (at: number) => keptOfLog('read', longText(at))],
])('of %s only the beginning stays in memory', (_, keptOf) => {
  const before = heapBytes()
  const kept = Array.from({ length: CALLS }, (_, at) => keptOf(at))
  expect(heapBytes() - before).toBeLessThan((CALLS * LENGTH) / 4)
  expect(JSON.stringify(kept)).toContain('39, 39, ')
})

function keptOfError(at: number) {
  const { world, call } = full({ thrown: longText(at) })
  const ended = walked('failed')
  const keeping = { ...world, rules: { ...world.rules, keepsMessages: true } }
  return endedCall(keeping, call, outcomeOf(world, call, ended), ended).error
}

function keptOfLog(...said: [message: string, data?: unknown]) {
  const { call, world } = scene()
  contextOf(world, call, new Cancellation()).log(...said)
  return call.handled.logs
}
