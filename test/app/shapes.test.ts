/**
 * What each call makes has one shape in V8, also where it is copied. A literal that begins with a copy (`{ ...hold, how }`) gets a new
 * shape for each name that follows, each time it runs: 7 µs instead of 0.1, and V8 keeps the shapes until its next full collection.
 */

import { setFlagsFromString } from 'node:v8'
import { describe, expect, it } from 'vitest'
import { replyToOutcome } from '../../src/adapters/http/outcome-to-reply.js'
import { forwardable } from '../../src/adapters/http/paid-route.js'
import type { HostRequest } from '../../src/adapters/http/route.js'
import { closeMove } from '../../src/app/charge/build-close-move.js'
import { recordMove } from '../../src/app/charge/effects/record.js'
import type { ChargeOutcome } from '../../src/ports/charge.js'
import { OWNED, scene } from '../support/charge-fixture.js'

setFlagsFromString('--allow-natives-syntax')
const haveOneShape = new Function('one', 'other', 'return %HaveSameMap(one, other)')
setFlagsFromString('--no-allow-natives-syntax')

const RUNS = 300

const OUTCOME = {
  final: 'served',
  path: [],
  traceId: 'trace',
  spanId: 'span',
  answer: { status: 200, headers: {}, body: 'done' },
} as unknown as ChargeOutcome

const ASKED = { target: '/x?y=1', headers: {} } as HostRequest
const TARGET = { method: 'GET', path: '/x', params: {} } as const

const closing = async () => {
  const { world, call } = scene({ call: { owned: OWNED, answer: OUTCOME.answer } })
  return closeMove(world, call, 'complete')
}
const recording = async () => {
  const { world, call } = scene({ call: { owned: OWNED, answer: OUTCOME.answer } })
  return recordMove(world, call)
}

describe('two calls', () => {
  it.each([
    ['what records them', recording],
    ['what closes them', closing],
    ['what an upstream or a gate is asked', async () => forwardable(ASKED, TARGET)],
    ['their replies', async () => replyToOutcome(OUTCOME, new Set())],
  ])('have one shape: %s', async (_, made) => {
    // The engine copies shapes once it has seen the code run.
    for (let run = 0; run < RUNS; run++) await made()
    expect(haveOneShape(await made(), await made())).toBe(true)
  })
})
