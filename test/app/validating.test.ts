/** The effect that checks an input: a library's schema may answer later, never, or break. */
import { describe, expect, it, vi } from 'vitest'
import { validate } from '../../src/app/charge/effects/validate.js'
import type { Checked, InputCheck } from '../../src/ports/input-validator.js'
import { scene } from '../support/charge-fixture.js'

const def = { name: 'work', method: 'POST', price: '$0.01', input: { type: 'object' }, inputSchema: {} }
const sent = { kind: 'read', value: { n: '1' } } as const
const PRICED = { ...def, price: () => '$1' }

function calling(check: InputCheck, { over = {}, request = { body: sent } as object } = {}) {
  const timers: { ms: number; run: () => void }[] = []
  const after = (ms: number, run: () => void) => {
    timers.push({ ms, run })
    return () => {}
  }
  const { world, call } = scene({
    endpoint: { def: { ...def, ...over }, check } as never,
    world: { clock: { after, monotonic: () => 0, now: () => 0 } as never },
    request,
  })
  return { call, timers, judged: () => validate(world, call) }
}

it('hands on the output, at once where the library answers at once', () => {
  const { call, judged } = calling(() => ({ value: { n: 1 } }))
  expect(judged()).toBe('valid')
  expect(call.input).toEqual({ n: 1 })
})

it('waits for a library that answers later', async () => {
  const { call, judged } = calling(async () => ({ value: { n: 1 } }))
  expect(await judged()).toBe('valid')
  expect(call.input).toEqual({ n: 1 })
  const refusing = calling(async () => ({ invalid: { field: '/n', message: 'no' } }))
  expect(await refusing.judged()).toBe('invalid')
  expect(refusing.call.end.problem).toEqual({ message: 'no', fields: { field: '/n', schema: def.input } })
})

it('does not wait longer than the deadline', async () => {
  const { timers, judged } = calling(() => new Promise<Checked>(() => {}))
  const waiting = judged()
  expect(timers.map(({ ms }) => ms)).toEqual([5_000])
  timers[0]!.run()
  await expect(waiting).rejects.toThrow('no answer within 5000 ms')
})

it('breaks where the library does, so that the machine says so', async () => {
  const thrown = calling(() => {
    throw new Error('broken')
  })
  expect(thrown.judged).toThrow('broken')
  await expect(calling(() => Promise.reject(new Error('broken'))).judged()).rejects.toThrow('broken')
})

describe('a query', () => {
  it('reaches a library as an ordinary object, and stays as it came', () => {
    const query = Object.assign(Object.create(null), { n: '1' })
    const seen: unknown[] = []
    const { judged } = calling(
      input => {
        seen.push(input)
        return { value: 1 }
      },
      { over: { method: 'GET' }, request: { query, payment: { kind: 'read', value: {} } } },
    )
    judged()
    expect(seen).toEqual([{ n: '1' }])
    expect(Object.getPrototypeOf(seen[0])).toBe(Object.prototype)
  })
})

describe('a probe', () => {
  const probing = (check: InputCheck, over: object, query = {}) =>
    calling(check, { over, request: { query } })

  it('of a fixed price checks nothing', () => {
    const check = vi.fn()
    expect(probing(check, {}).judged()).toBe('probe')
    expect(check).not.toHaveBeenCalled()
  })

  it('of a price function gives it what it would get for the paid call', () => {
    const { call, judged } = probing(() => ({ value: { n: 2 } }), { ...PRICED, method: 'GET' }, { n: '2' })
    expect(judged()).toBe('probe')
    expect(call.input).toEqual({ n: 2 })
  })

  it('that the schema refuses gives it nothing from a library, and the query from a JSON Schema', async () => {
    const refuses = async () => ({ invalid: { field: '', message: 'no' } })
    const library = probing(refuses, { ...PRICED, method: 'GET' }, { n: 'x' })
    expect(await library.judged()).toBe('probe')
    expect(library.call.input).toEqual({})
    const json = probing(refuses, { ...PRICED, method: 'GET', inputSchema: undefined }, { n: 'x' })
    expect(await json.judged()).toBe('probe')
    expect(json.call.input).toEqual({ n: 'x' })
  })
})
