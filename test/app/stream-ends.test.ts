/** What becomes of a stream's answer where the store does not answer at once: it is kept for the caller that asks again. */
import { describe, expect, it } from 'vitest'
import { Timeline } from '../../simulation/kernel/timeline.js'
import type { ReplayedAnswer } from '../../src/app/charge/call-record.js'
import { unseal } from '../../src/app/charge/claim-name-and-seal.js'
import { closeCall, giveBack } from '../../src/app/charge/close-call.js'
import type { StreamSource } from '../../src/app/charge/render-stream.js'
import type { RecordMove } from '../../src/ports/charge-store.js'
import { HOLD, PAYMENT, REQUIREMENTS, type Scene, SECRET, scene, UUID } from '../support/charge-fixture.js'
import { clockOf } from '../support/virtual-clock.js'

const DOWN = new Error('down')
const REPLAY = { idempotency: { onLostResponse: 'replay' } } as const

/** A stream of two chunks, and what was asked of it. */
function source() {
  const chunks = ['one', 'two']
  const seen = { asked: 0, isEnded: false }
  const next: StreamSource['next'] = async () => {
    const text = chunks[seen.asked++]
    return text === undefined ? { done: true } : { done: false, bytes: Buffer.from(text) }
  }
  const end = () => {
    seen.isEnded = true
  }
  return { seen, source: { next, end } }
}

/** A call that holds a key and a payment, and whose stream was not read yet. */
function streaming(given: Scene = {}) {
  const timeline = new Timeline()
  const stream = source()
  const stop = { cutting: () => false, onCut: () => () => {} }
  const it = scene({
    ...given,
    rules: { ...REPLAY, ...given.rules },
    request: { payment: PAYMENT, idempotencyKey: SECRET },
    call: {
      hold: HOLD,
      held: true,
      secret: SECRET,
      requirements: REQUIREMENTS,
      answer: { status: 200, headers: {}, body: '' },
      source: stream.source,
      ...given.call,
    },
    world: { clock: clockOf(timeline), stop, ...given.world } as never,
  })
  return { ...it, timeline, stream: stream.seen, stop }
}

const keptIn = (answer: Uint8Array): ReplayedAnswer => unseal(answer, SECRET, 'claim')
const bodyIn = (answer: Uint8Array) => keptIn(answer).answer?.body.toString()

describe('the stream of a call in doubt', () => {
  /** The store answers as told, in turn, and then that it recorded. */
  function recording(...says: (Error | 'superseded')[]) {
    const moves: RecordMove[] = []
    const it = streaming()
    Object.assign(it.world.store, {
      async record(move: RecordMove) {
        moves.push(move)
        const said = says.shift() ?? 'recorded'
        if (said instanceof Error) throw said
        return said
      },
    })
    return { ...it, moves }
  }

  it('is sent to a store that did not answer until it does, and the call keeps its lease so long', async () => {
    const { world, call, inFlight, seen, timeline, moves } = recording(DOWN, DOWN, DOWN)
    expect(closeCall(world, call, 'inDoubt', inFlight)).toBeUndefined()
    await timeline.run(700)
    expect({ sent: moves.length, leases: seen.leases, inFlight: seen.inFlight }).toEqual({
      sent: 2,
      leases: [],
      inFlight: 1,
    })
    await timeline.run(60_000)
    expect(moves.map(({ recorded }) => bodyIn(recorded.answer))).toEqual(Array(4).fill('onetwo'))
    expect({ leases: seen.leases, inFlight: seen.inFlight }).toEqual({
      leases: [`pass ${UUID}`],
      inFlight: 0,
    })
  })

  it('that another call took over is reported, and not sent again', async () => {
    const { world, call, inFlight, seen, timeline, moves } = recording('superseded')
    closeCall(world, call, 'inDoubt', inFlight)
    await timeline.run(60_000)
    expect({ sent: moves.length, logged: seen.logged.length, leases: seen.leases }).toEqual({
      sent: 1,
      logged: 1,
      leases: [`pass ${UUID}`],
    })
  })

  it('is given up by a server that stops while the store is down', async () => {
    const { world, call, inFlight, seen, timeline, moves, stop } = recording(...Array(50).fill(DOWN))
    closeCall(world, call, 'inDoubt', inFlight)
    await timeline.run(700)
    stop.cutting = () => true
    await timeline.run(60_000)
    expect({ sent: moves.length, leases: seen.leases, inFlight: seen.inFlight }).toEqual({
      sent: 3,
      leases: [`pass ${UUID}`],
      inFlight: 0,
    })
  })
})

describe('the stream of a call that was given back', () => {
  it.each([
    ['whose place another call has', 'superseded'],
    ['whose release waits for the store', DOWN],
  ] as const)('%s is not read: nobody can get its answer', async (_, closed) => {
    const { world, call, inFlight, seen, stream } = streaming({ closed })
    await giveBack(world, call)
    expect(closeCall(world, call, 'inDoubt', inFlight)).toBeUndefined()
    expect({ ...stream, leases: seen.leases }).toEqual({ asked: 0, isEnded: true, leases: [`pass ${UUID}`] })
  })
})

describe('the stream of a charged call', () => {
  it.each([
    ['is dropped with the close', 'closed', [`drop ${UUID}`], 0],
    ['stays while the close waits for the store, which is the only copy of the answer', DOWN, [], 1],
  ] as const)('has ended, and its lease %s', async (_, closed, leases, pending) => {
    const { world, call, inFlight, seen } = streaming({ closed })
    closeCall(world, call, 'settled', inFlight)
    for await (const _chunk of call.answer!.stream!.chunks);
    expect(seen.leases).toEqual([])
    seen.end!(true)
    await new Promise(resolve => setImmediate(resolve))
    expect(seen.closes.map(({ answer }) => bodyIn(answer!))).toEqual(['onetwo'])
    expect({ leases: seen.leases, pending: seen.pending.length, inFlight: seen.inFlight }).toEqual({
      leases,
      pending,
      inFlight: 0,
    })
  })
})
