/** The walk of one call through the machine, seen from its door: what it is told, and who else is told when it has ended. */

import { describe, expect, it } from 'vitest'
import { MESSAGES } from '../../src/app/charge/call-outcome.js'
import { termsOf } from '../../src/app/charge/payment-challenge.js'
import { createCharge } from '../../src/app/charge/walk-charge-machine.js'
import type { EndpointDef } from '../../src/domain/endpoint.js'
import { TESTNET } from '../../src/domain/network.js'
import type { EndedCall } from '../../src/ports/call-observer.js'
import { PAYMENT, type Scene, scene } from '../support/charge-fixture.js'
import { START_MS } from '../support/one-call.js'

const DEF = { name: 'work', description: 'Works.', amount: '10000', timeout: 10_000 } as EndpointDef
const TERMS = termsOf(DEF, { network: TESTNET, payTo: 'SELLER', maxTimeoutSeconds: 60, networkIds: 'both' })

const SELLING = { def: { ...DEF, handler: () => 'work' }, terms: TERMS }
const REFUSES = new Error('an observer that throws')

/** A seller of one endpoint. A payment of less than its price is refused once the call holds it. */
function seller({ world, ...given }: Scene = {}) {
  const it = scene({ endpoint: { def: DEF, terms: TERMS }, read: { amount: 1n }, ...given })
  const ports = {
    stop: { draining: () => false },
    store: { ...it.world.store, open: async () => ({ verdict: 'opened' }) },
    facilitator: { supported: () => undefined },
  }
  Object.assign(it.world, ports, world)
  const ended: EndedCall[] = []
  const busy: number[] = []
  const observer = {
    ended: (call: EndedCall) => {
      ended.push(call)
      busy.push(it.seen.inFlight)
    },
  }
  const throwing = {
    ended: () => {
      throw REFUSES
    },
  }
  const charge = createCharge(it.world, [throwing, observer], it.inFlight)
  return { ...it, charge, ended, busy }
}

const paid = { request: { payment: PAYMENT } }

describe('a call', () => {
  it('is reported once to each observer, whatever another one throws, and keeps the server until then', async () => {
    const { charge, request, ended, busy, seen } = seller()
    const outcome = await charge.call('work', request)
    expect(outcome).toMatchObject({ final: 'quoted', challenge: { required: { x402Version: 2 } } })
    expect(ended).toMatchObject([{ final: 'quoted', status: 402, charged: 'no' }])
    expect(busy).toEqual([1])
    expect(seen.logged).toEqual([{ err: REFUSES }])
    expect(seen.inFlight).toBe(0)
  })

  it('has given back what it held before it is told so', async () => {
    const { charge, request, seen } = seller(paid)
    const outcome = await charge.call('work', request)
    expect(outcome.final).toBe('refused')
    expect(outcome.challenge).toBeDefined()
    expect(seen.closes).toMatchObject([{ how: 'release', payment: 'TX' }])
  })

  it('that another took over quotes nothing, and observers learn how it ended by itself', async () => {
    const { charge, request, ended } = seller({ ...paid, closed: 'superseded' })
    const outcome = await charge.call('work', request)
    expect(outcome).toMatchObject({ final: 'superseded', retryAfterMs: 2_000 })
    expect(outcome.challenge).toBeUndefined()
    expect(ended).toMatchObject([{ final: 'refused', status: 409, code: 'superseded' }])
  })

  it.each<[Scene['closed'], string, boolean]>([
    ['closed', 'unsettled', true],
    ['superseded', 'inDoubt', false],
    [new Error('down'), 'inDoubt', false],
  ])('whose settlement is refused says so only of a payment that it still holds: %s', async (...row) => {
    const [closed, final, isSaid] = row
    const ports = {
      facilitator: {
        supported: () => undefined,
        verify: async () => ({ verdict: 'valid' }),
        settle: async () => ({ verdict: 'refused', reason: 'You have no funds.' }),
      },
      chain: { round: () => 100n },
      stop: { draining: () => false, cutting: () => false, onCut: () => () => {} },
      store: { record: async () => 'recorded' },
      clock: { now: () => START_MS, monotonic: () => START_MS, after: () => () => {} },
    }
    const it = seller({ ...paid, read: {}, closed: closed!, rules: { credit: undefined }, endpoint: SELLING })
    Object.assign(it.world, { ...ports, store: { ...it.world.store, ...ports.store } })
    const { problem, ...outcome } = await it.charge.call('work', it.request)
    expect(outcome.final).toBe(final)
    expect(problem!.message).toBe(isSaid ? 'You have no funds.' : MESSAGES.inDoubt)
    expect(outcome.receipt?.success).toBe(isSaid ? false : undefined)
  })

  it('whose payment nothing can read goes no further; a quote needs no reader', async () => {
    const cause = new Error('algosdk is missing')
    const reader = () => Promise.reject(cause)
    const unreadable = seller({ ...paid, world: { reader } })
    await expect(unreadable.charge.call('work', unreadable.request)).rejects.toBe(cause)
    expect(unreadable.seen).toMatchObject({ closes: [], inFlight: 0 })
    const unpaid = seller({ world: { reader } })
    expect((await unpaid.charge.call('work', unpaid.request)).final).toBe('quoted')
  })

  it('whose effect throws ends in the state that the machine has for it, and in the log', async () => {
    const cause = new Error('broken')
    const draining = () => {
      throw cause
    }
    const { charge, request, seen } = seller({ world: { stop: { draining } as never } })
    const { final, traceId } = await charge.call('work', request)
    expect(final).toBe('broken')
    expect(seen.logged).toContainEqual({ err: cause, state: 'received', traceId })
    expect(seen.inFlight).toBe(0)
  })

  it('that no store can hold is not charged for, and may be sent again', async () => {
    const open = () => Promise.reject(new Error('down'))
    const { charge, request, seen } = seller({ ...paid, world: { store: { open } as never } })
    const outcome = await charge.call('work', request)
    expect(outcome).toMatchObject({
      final: 'unavailable',
      retryAfterMs: 2_000,
      problem: { code: 'store_unavailable', message: expect.stringContaining('Nothing was charged') },
    })
    // It may have been taken before the answer of the store was lost.
    expect(seen.pending).toMatchObject([{ how: 'release', payment: 'TX' }])
  })

  it('to an endpoint that there is not rejects, and counts as none', async () => {
    const { charge, request, ended, seen } = seller()
    await expect(charge.call('other', request)).rejects.toThrow('no endpoint is named other')
    expect({ ended, inFlight: seen.inFlight }).toEqual({ ended: [], inFlight: 0 })
  })

  it('that cannot even begin keeps no server from stopping', async () => {
    const { charge, request, seen, world } = seller()
    Object.assign(world.random, {
      uuid: () => {
        throw new Error('no randomness')
      },
    })
    await expect(charge.call('work', request)).rejects.toThrow('no randomness')
    expect(seen.inFlight).toBe(0)
  })
})
