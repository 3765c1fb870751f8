/** The names of what stores keep: what is part of an owner, and what a deploy may change. */
import { describe, expect, it } from 'vitest'
import {
  creditorName,
  endpointOwner,
  ownerOf,
  quotedSponsorId,
  sha256,
  taskName,
  windowId,
} from '../../src/app/charge/names-in-stores.js'
import { CAIP2, MAINNET, TESTNET } from '../../src/domain/network.js'
import { OWNER, SELLER } from '../support/one-call.js'
import { type Opening, opened } from '../support/opened-call.js'

const OWN = ownerOf(TESTNET, SELLER, 'agent')
const SISTER = ownerOf(TESTNET, SELLER, 'sister')
/** Owners that differ from ours in one thing, or in where it ends and the next begins. */
const OTHERS = [
  ownerOf(MAINNET, SELLER, 'agent'),
  ownerOf(TESTNET, 'OTHER', 'agent'),
  SISTER,
  ownerOf(TESTNET, `${SELLER}","agent`, ''),
  ownerOf(TESTNET, '', `${SELLER}","agent`),
]

describe('an owner', () => {
  it('is one agent of one seller on one network', () => {
    const agents = [OWN, ...OTHERS].map(({ agent }) => agent)
    expect(new Set(agents).size).toBe(agents.length)
    expect(ownerOf({ ...TESTNET }, SELLER, 'agent')).toEqual(OWN)
  })

  it('shares its seller with the other agents of that, on the same network', () => {
    expect(SISTER.seller).toBe(OWN.seller)
    for (const { seller } of OTHERS.filter(other => other !== SISTER)) expect(seller).not.toBe(OWN.seller)
  })

  it('of an endpoint has no other endpoint', () => {
    const names = [OWN, ...OTHERS].flatMap(owner =>
      ['work', 'other', ''].map(name => endpointOwner(owner, name)),
    )
    expect(new Set(names).size).toBe(names.length)
    expect(endpointOwner(OWN, 'work')).toBe(OWNER)
  })
})

describe('the name of', () => {
  it('a window is of its endpoint and its key, and shows neither', () => {
    const own = windowId(OWNER, 'svc_key')
    expect(own).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(windowId(OWNER, 'svc_key')).toBe(own)
    const others = OTHERS.map(owner => windowId(endpointOwner(owner, 'work'), 'svc_key'))
    const names = [
      own,
      ...others,
      windowId(OWNER, 'svc_other'),
      windowId(endpointOwner(OWN, 'other'), 'svc_key'),
    ]
    expect(new Set(names).size).toBe(names.length)
  })

  it('a task is of its agent and its id, and shows neither', () => {
    const own = taskName(OWN, 'id')
    expect(own).toMatch(/^[A-Za-z0-9_-]{43}$/)
    const names = [own, taskName(OWN, 'other'), ...OTHERS.map(owner => taskName(owner, 'id'))]
    expect(new Set(names).size).toBe(names.length)
  })

  it('a sponsor that quotes named is of its seller and of a span of time', () => {
    const own = quotedSponsorId(OWN, 'SPONSOR', 1)
    expect(own).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(quotedSponsorId(SISTER, 'SPONSOR', 1)).toBe(own)
    const others = OTHERS.filter(other => other !== SISTER).map(other => quotedSponsorId(other, 'SPONSOR', 1))
    const names = [own, ...others, quotedSponsorId(OWN, 'OTHER', 1), quotedSponsorId(OWN, 'SPONSOR', 2)]
    expect(new Set(names).size).toBe(names.length)
  })

  it('a request is the same in servers of several versions, which share a store while they are deployed', async () => {
    const nameOf = async (given: Opening) => (await opened({ paid: {}, ...given })).moves[0]!.claim!.bodyHash
    const body = { kind: 'read', value: { b: 2, a: 1 } } as const
    expect(await nameOf({})).toBe(sha256('POST {}'))
    expect(await nameOf({ request: { body, query: { q: '1' } } })).toBe(
      sha256('POST {"q":"1"} {"a":1,"b":2}'),
    )
    const target = { method: 'GET', path: '/items/7', params: { id: '7' } } as const
    expect(await nameOf({ request: { target } })).toBe(sha256('GET /{"id":"7"} {}'))
  })

  it('a caller’s address is of one endpoint: a store does not show who calls which others', async () => {
    const callerAt = async (name: string) => {
      const { def } = (await opened({ paid: {} })).call.endpoint
      return (await opened({ paid: {}, def: { ...def, name } })).moves[0]!.caller
    }
    expect(await callerAt('work')).toMatch(/^[A-Za-z0-9_-]{22}$/)
    expect(await callerAt('work')).toBe(await callerAt('work'))
    expect(await callerAt('other')).not.toBe(await callerAt('work'))
  })

  it('a creditor is of the seller: all its agents count together', () => {
    const own = creditorName(OWN, 'PAYER')
    expect(creditorName(SISTER, 'PAYER')).toBe(own)
    expect(creditorName(OWN, 'OTHER')).not.toBe(own)
    for (const other of OTHERS.filter(other => other !== SISTER))
      expect(creditorName(other, 'PAYER')).not.toBe(own)
  })
})

describe('a deploy between two requests of one call', () => {
  const KEY = 'a random key of more than 32 characters'
  const asked = async (given: Opening) => {
    const { claim, caller, answerName, slot, payment } = (await opened(given)).moves[0]!
    return { claim, caller, answerName, slot, payment }
  }

  it.each<[string, Partial<Opening>]>([
    ['the price', { def: { price: '$9.99' } }],
    ['a price function', { def: { price: () => '$0.02' } }],
    ['schemas', { def: { input: { type: 'string' }, output: { type: 'string' } } as never }],
    ['words', { def: { description: 'Other.', tags: ['other'], timeout: 1 } }],
    ['the mode', { rules: { idempotency: { onLostResponse: 'release' } } }],
    ['how long is kept', { rules: { retentionMs: 1, keepAnswersMs: 1 } }],
    ['the terms', { endpoint: { terms: {} as never } }],
    ['the facilitator', { world: { facilitator: {} as never } }],
    ['the spelling of the network', { payload: { accepted: { network: TESTNET.wholeHashId } } }],
    ['what the agent takes for its address', { rules: { publicUrl: 'https://other.example' } }],
  ])('that changes %s changes no name', async (_, change) => {
    const payload = { accepted: { network: CAIP2.testnet } }
    const calls: Opening[] = [
      { paid: {}, payload },
      { paid: {}, payload, key: KEY },
      { paid: {}, payload, key: 'short' },
      { key: KEY, request: { subscriptionKey: 'svc_key' } },
      { paid: {}, payload, request: { task: 'id' } },
    ]
    for (const call of calls) expect(await asked({ ...call, ...change })).toEqual(await asked(call))
  })
})
