/** The walk of one call through the machine, seen from its door: what it is told, and who else is told when it has ended. */

import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { describe, expect, it } from 'vitest'
import { newCall } from '../../src/app/charge/call-at-work.js'
import { MESSAGES } from '../../src/app/charge/call-outcome.js'
import { ownedBy } from '../../src/app/charge/names-in-stores.js'
import { termsOf } from '../../src/app/charge/payment-challenge.js'
import { seal } from '../../src/app/charge/seal-answers.js'
import { createCharge } from '../../src/app/charge/walk-charge-machine.js'
import type { EndpointDef } from '../../src/domain/endpoint.js'
import { TESTNET } from '../../src/domain/network.js'
import type { CallObserver, EndedCall } from '../../src/ports/call-observer.js'
import type { Landing } from '../../src/ports/chain.js'
import type { Opened } from '../../src/ports/charge-store.js'
import { PAYMENT, type Scene, scene } from '../support/charge-fixture.js'
import { READ, START_MS } from '../support/one-call.js'

const DEF = { name: 'work', description: 'Works.', amount: '10000', timeout: 10_000 } as EndpointDef
const TERMS = termsOf(DEF, { network: TESTNET, payTo: 'SELLER', maxTimeoutSeconds: 60, networkIds: 'both' })

const SELLING = { def: { ...DEF, handler: () => 'work' }, terms: TERMS }
const ANSWER = { status: 200, headers: {}, body: 'of an earlier call' } as const
const CALLER = { gone: () => false, onGone: () => () => {}, onEnd: () => {} }
const READER = { read: () => READ }
const REFUSES = new Error('an observer that throws')

/** A seller of one endpoint. A payment of less than its price is refused once the call holds it. */
function seller({ world, ...given }: Scene = {}, others: readonly CallObserver[] = []) {
  const it = scene({ endpoint: { def: DEF, terms: TERMS }, read: { amount: 1n }, ...given })
  const ports = {
    stop: { draining: () => false },
    store: { ...it.world.store, open: async () => ({ verdict: 'opened' }) },
    facilitator: { supported: () => undefined },
  }
  Object.assign(it.world, ports, world)
  const ended: EndedCall[] = []
  const streaming: EndedCall[] = []
  const busy: number[] = []
  const observer: CallObserver = {
    streaming: call => void streaming.push(call),
    ended: call => {
      ended.push(call)
      busy.push(it.seen.inFlight)
    },
  }
  const throwing = {
    ended: () => {
      throw REFUSES
    },
  }
  const charge = createCharge(it.world, [throwing, ...others, observer], it.inFlight)
  return { ...it, charge, ended, streaming, busy }
}

const paid = { request: { payment: PAYMENT } }

/** A timer of a clock that stands still: only what is due at once is ever run. */
function onlyNow(ms: number, run: () => void) {
  if (ms === 0) run()
  return () => {}
}

interface Settling extends Scene {
  readonly settle: () => Promise<object>
  readonly lookup?: () => Promise<Landing>
  readonly open?: () => Promise<Opened>
}

/** A seller whose facilitator answers as told, and whose store records and resolves what it is asked to. */
function settling({ settle, lookup, open, ...given }: Settling) {
  const it = seller({ ...paid, read: {}, rules: { credit: undefined }, endpoint: SELLING, ...given })
  const store = { record: async () => 'recorded', resolve: async () => 'completed', ...(open && { open }) }
  Object.assign(it.world, {
    facilitator: { supported: () => undefined, verify: async () => ({ verdict: 'valid' }), settle },
    chain: { round: () => 100n, lookup },
    stop: { draining: () => false, cutting: () => false, onCut: () => () => {} },
    store: { ...it.world.store, ...store },
    clock: { now: () => START_MS, monotonic: () => START_MS, after: onlyNow },
  })
  return it
}

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

  it('is reported to the next observer as it was, whatever one before changes, and an async one may reject', async () => {
    const changing: CallObserver = {
      ended(call) {
        expect(() => Object.assign(call, { charged: 'yes', amount: '1' })).toThrow(TypeError)
        expect(() => (call.path as string[]).pop()).toThrow(TypeError)
      },
    }
    const { charge, request, ended, seen } = seller({}, [
      { ended: async () => Promise.reject(REFUSES) },
      changing,
    ])
    const { path } = await charge.call('work', request)
    expect(ended).toMatchObject([{ final: 'quoted', charged: 'no', path }])
    expect(path.at(-1)).toBe('pricing.unpaid')
    await expect.poll(() => seen.logged).toEqual([{ err: REFUSES }, { err: REFUSES }])
  })

  it('is quoted what its method costs, and what the first method costs where its door names none', async () => {
    const { charge, request, endpoint } = seller()
    const get = { ...endpoint, def: { ...endpoint.def, amount: '777' } }
    const quoted = async (method?: 'GET' | 'POST') => {
      const target = method && { method, path: '/work', params: {} }
      const { challenge } = await charge.call('work', { ...request, ...(target && { target }) })
      return challenge!.required.accepts[0]!.amount
    }
    expect(await quoted('GET')).toBe('10000')
    Object.assign(endpoint, { byMethod: new Map([['GET', get]]) })
    expect([await quoted('GET'), await quoted('POST'), await quoted()]).toEqual(['777', '10000', '10000'])
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
    const settle = async () => ({ verdict: 'refused', reason: 'You have no funds.' })
    const it = settling({ settle, closed: closed! })
    const { problem, ...outcome } = await it.charge.call('work', it.request)
    expect(outcome.final).toBe(final)
    expect(problem!.message).toBe(isSaid ? 'You have no funds.' : MESSAGES.inDoubt)
    expect(outcome.receipt?.success).toBe(isSaid ? false : undefined)
  })

  it('whose settlement has no clear answer is charged where the chain has its payment', async () => {
    const it = settling({ settle: async () => ({ verdict: 'unknown' }), lookup: async () => 'found' })
    const outcome = await it.charge.call('work', it.request)
    expect(outcome).toMatchObject({ final: 'settled', answer: { body: '"work"' } })
    expect(outcome.path).toContain('reconciling.found')
  })

  it('that takes over one that stopped while settling gets its answer, where that was paid', async () => {
    const kept = {
      answer: ANSWER,
      txId: 'TX',
      payer: 'PAYER',
      amount: '10000',
      asset: '1',
      window: undefined,
    }
    const recorded = { payment: { txId: 'TX', firstValid: 100n, lastValid: 200n } }
    const it: ReturnType<typeof settling> = settling({
      settle: async () => ({ verdict: 'settled' }),
      open: async () => {
        const { hold, seals } = ownedBy(
          it.world,
          newCall(it.world, it.endpoint, it.request, READER),
          undefined,
        )!
        const answer = seal(kept, seals[0]!, hold.claim.name, it.world.random)
        return { verdict: 'orphaned', recorded: { ...recorded, answer } }
      },
    })
    const outcome = await it.charge.call('work', it.request)
    expect(outcome).toMatchObject({ final: 'replayed', receipt: { txId: 'TX' } })
    expect(String(outcome.answer!.body)).toBe(ANSWER.body)
    expect(outcome.path).toContain('recovering.found')
  })

  it.each([false, true])(
    'whose answer is a stream is reported as it is charged, and at its end; broken: %s',
    async breaks => {
      const told: unknown[] = []
      const onMessage = (message: unknown) => void told.push(message)
      subscribe('svc.call.ended', onMessage)
      const end: ((arrived: boolean) => void)[] = []
      const handler = async function* () {
        yield 'one'
        if (breaks) throw new Error('broken')
      }
      const it = settling({
        settle: async () => ({ verdict: 'settled', txId: 'TX' }),
        endpoint: { ...SELLING, def: { ...DEF, handler, stream: true } as never },
        request: {
          ...paid.request,
          streams: true,
          caller: { ...CALLER, onEnd: listener => void end.push(listener) },
        },
      })
      const outcome = await it.charge.call('work', it.request)
      expect(it.streaming).toMatchObject([{ final: 'settled', charged: 'yes', txId: 'TX' }])
      expect(it.streaming[0]).not.toHaveProperty('streamBroken')
      expect(it.ended).toEqual([])
      const read = async () => {
        for await (const _ of outcome.answer!.stream!.chunks);
      }
      await (breaks ? expect(read()).rejects.toThrow() : read())
      end[0]!(!breaks)
      await expect.poll(() => it.ended).toHaveLength(1)
      unsubscribe('svc.call.ended', onMessage)
      expect(it.ended).toMatchObject([{ final: 'settled', charged: 'yes', txId: 'TX' }])
      const { streamBroken, brokenBy } = it.ended[0]!
      expect({ streamBroken, brokenBy }).toEqual(
        breaks
          ? { streamBroken: true, brokenBy: 'seller' }
          : { streamBroken: undefined, brokenBy: undefined },
      )
      expect(told).toEqual([{ endpoint: it.endpoint.def, call: it.ended[0] }])
      // An observer need not hear of what is not over.
      const errors = (it.seen.logged as { err?: unknown }[]).map(({ err }) => err)
      expect(errors.filter(err => err instanceof TypeError)).toEqual([])
    },
  )

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
