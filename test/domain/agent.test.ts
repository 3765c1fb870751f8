import { describe, expect, it } from 'vitest'
import { agent } from '../../src/domain/agent.js'
import { endpoint } from '../../src/domain/endpoint.js'
import { refusedWith } from './refusal.js'

const echo = endpoint({ name: 'echo', price: '$0.01', handler: () => ({}) })
const payTo = 'A'.repeat(58)
const sound = { name: 'Echo', handle: 'echo', description: 'Says it again', payTo, endpoints: [echo] }

const define = (options: object) => agent(options as never)
const changed = (over: object) => () => define({ ...sound, ...over })

describe('an agent', () => {
  it('has the specification’s defaults', () => {
    expect(define(sound)).toEqual({
      ...sound,
      version: '0.1.0',
      skills: [],
      network: 'mainnet',
      bidsOn: [],
      serviceName: 'Echo',
    })
  })

  it('keeps what it was given, and none of it can be changed', () => {
    const skills = ['text']
    const checked = define({ ...sound, version: '2.0.0', skills, network: 'testnet', bidsOn: [1] })
    skills.push('more')
    expect(checked).toMatchObject({ version: '2.0.0', skills: ['text'], network: 'testnet', bidsOn: [1] })
    expect([checked, checked.skills, checked.endpoints, checked.bidsOn].every(Object.isFrozen)).toBe(true)
  })

  it.each([[null], [{}], [5], ['all'], [true], [() => {}], [Symbol('bids')]])(
    'specification 2.6: bidsOn has no effect, whatever its value: %o',
    bidsOn => expect(define({ ...sound, bidsOn })).toEqual(define(sound)),
  )

  it('may have had other names, and so may its endpoints', () => {
    const say = endpoint({
      name: 'say',
      formerly: ['echo', 'tell', 'say'],
      price: '$0.01',
      handler: () => ({}),
    })
    const checked = define({ ...sound, formerly: ['first', 'second'], endpoints: [say] })
    expect(checked.formerly).toEqual(['first', 'second'])
    expect(checked.endpoints[0]!.formerly).toEqual(['echo', 'tell', 'say'])
    refusedWith('invalid_agent', changed({ formerly: 'first' }), /formerly is a list/)
    refusedWith('invalid_agent', changed({ formerly: ['No'] }), /formerly is a list/)
    const bad = { name: 'say', formerly: ['a b'], price: '$0.01', handler: () => ({}) }
    refusedWith('invalid_endpoint', () => endpoint(bad), /formerly is a list/)
  })

  it.each(['abc', 'a-1', '---', 'a'.repeat(40)])('may have the handle %s', handle => {
    expect(define({ ...sound, handle }).handle).toBe(handle)
  })
  it.each([
    ['ab'],
    ['a'.repeat(41)],
    ['Echo'],
    ['e_o'],
    ['e o'],
    ['echo\n'],
    [''],
    [undefined],
    [3],
    [['echo']],
  ])('may not have the handle %o', handle => refusedWith('invalid_handle', changed({ handle })))

  it.each([
    ['A'.repeat(57)],
    ['A'.repeat(59)],
    ['a'.repeat(58)],
    [`${'A'.repeat(57)}1`],
    [`${'A'.repeat(57)}0`],
    [''],
    [`${payTo}\n`],
    [undefined],
    [null],
    [{}],
  ])('may not be paid at %o', address => refusedWith('invalid_address', changed({ payTo: address })))

  it.each([[undefined], ['']])('may not be paid at nothing, %o, and is told where to look', nothing =>
    refusedWith(
      'invalid_address',
      changed({ payTo: nothing }),
      /^payTo is missing: is the environment variable set\?$/,
    ),
  )

  it('is not refused for an address whose checksum is wrong: that is for the doctor', () => {
    expect(define({ ...sound, payTo: `${'7'.repeat(58)}` }).payTo).toBe('7'.repeat(58))
  })

  it.each([
    [{ endpoints: [] }],
    [{ endpoints: undefined }],
    [{ endpoints: echo }],
    [{ name: '' }],
    [{ name: undefined }],
    [{ description: '' }],
    [{ description: undefined }],
    [{ network: 'betanet' }],
    [{ network: 'toString' }],
    [{ version: '' }],
    [{ version: 1 }],
    [{ skills: 'text' }],
    [{ skills: [1] }],
  ])('is refused with %o', over => refusedWith('invalid_agent', changed(over)))

  it('has no two endpoints of one name', () => {
    refusedWith('duplicate_endpoint', changed({ endpoints: [echo, { ...echo, price: '$0.02' }] }), /'echo'/)
    // What was sold under one name has one owner.
    const renamed = { ...echo, name: 'say', formerly: ['echo'] }
    refusedWith('duplicate_endpoint', changed({ endpoints: [echo, renamed] }), /'echo'/)
    const again = { ...renamed, name: 'tell' }
    refusedWith('duplicate_endpoint', changed({ endpoints: [renamed, again] }), /'echo'/)
  })

  it('checks endpoints that nobody checked before, with their own codes', () => {
    const raw = { name: 'raw', price: '1', handler: () => ({}) }
    expect(define({ ...sound, endpoints: [raw] }).endpoints[0]).toMatchObject({
      method: 'POST',
      timeout: 30_000,
    })
    refusedWith('invalid_price', changed({ endpoints: [{ ...raw, price: '0' }] }))
    refusedWith('invalid_name', changed({ endpoints: [{ ...raw, name: 'RAW' }] }))
  })
})
