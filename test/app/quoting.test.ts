/** From the input to our terms, each step by itself: what is a probe, what a window covers, and which payment meets the price. */
import { describe, expect, it } from 'vitest'
import { memorySubscriptions } from '../../src/adapters/memory/subscriptions.js'
import type { ChargeDeps, EndpointEntry } from '../../src/app/charge/charge-deps.js'
import { entitle } from '../../src/app/charge/effects/entitle.js'
import { price } from '../../src/app/charge/effects/price.js'
import { validate } from '../../src/app/charge/effects/validate.js'
import { verify } from '../../src/app/charge/effects/verify.js'
import { windowId } from '../../src/app/charge/names-in-stores.js'
import { UNPAID } from '../../src/app/charge/payment-challenge.js'
import { SvcError } from '../../src/domain/errors.js'
import { CAIP2, MAINNET, TESTNET } from '../../src/domain/network.js'
import type { SubscriptionRecord } from '../../src/ports/subscriptions.js'
import { fieldsOf } from '../support/call-fields.js'
import { DOWN, type Given, OWNER, oneCall, SELLER, START_MS, TESTNET_USDC } from '../support/one-call.js'

const KEY = 'svc_key'
const HOUR_MS = 3_600_000
const body = (value: unknown) => ({ body: { kind: 'read', value } as const })
const window = { periodMs: HOUR_MS } as Partial<EndpointEntry>
const sold: SubscriptionRecord = { endpoint: 'work', expiresAtMs: START_MS + 1 }

/** A store of windows in which one is open under our key, by whatever record and whatever clock. */
function selling(record: Partial<SubscriptionRecord> | null = {}, now?: () => number): Partial<ChargeDeps> {
  const get = async (id: string) =>
    id === windowId(OWNER, KEY) ? record && { ...sold, ...record } : undefined
  return { subscriptions: { ...memorySubscriptions(), get, ...(now && { now }) } }
}

describe('the input', () => {
  const schema = { type: 'object' } as const
  const check: EndpointEntry['check'] = input =>
    (input as { wrong?: true }).wrong
      ? { invalid: { field: '/wrong', message: 'is wrong' } }
      : { value: { checked: input } }
  async function validated(given: Given) {
    const { call, ended } = oneCall({
      ...given,
      def: { input: schema, ...given.def },
      endpoint: { check, ...given.endpoint },
    })
    const { answer } = await ended(validate)
    const { problem, retryAfterMs } = call.end
    return { answer, input: call.input, key: call.request.subscriptionKey, problem, retryAfterMs }
  }
  const GET = { method: 'GET' as const }
  const refusing: EndpointEntry['check'] = () => ({ invalid: { field: '', message: 'is missing' } })
  const refused = { message: 'is missing', fields: { field: '', schema } }

  it.each<[string, Given, unknown]>([
    ['the body of a POST', { request: { ...body({ a: 1 }), query: { b: 2 } } }, { a: 1 }],
    ['{} where a POST has no body', { paid: {}, request: { query: { b: 2 } } }, {}],
    ['the query of a GET', { def: GET, request: { ...body({ a: 1 }), query: { b: 2 } } }, { b: 2 }],
  ])('is %s, as its check leaves it', async (_, given, input) => {
    const valid = { answer: 'valid', problem: undefined, retryAfterMs: undefined }
    expect(await validated(given)).toEqual({ ...valid, input: { checked: input } })
    expect(await validated({ ...given, endpoint: { check: undefined } })).toEqual({ ...valid, input })
  })

  it('that does not satisfy its schema is refused, and the caller told where', async () => {
    const problem = { message: 'is wrong', fields: { field: '/wrong', schema } }
    const invalid = { answer: 'invalid', problem, input: undefined }
    expect(await validated({ request: body({ wrong: true }) })).toMatchObject(invalid)
    expect(await validated({ paid: {}, def: GET, request: { query: { wrong: true } } })).toMatchObject(
      invalid,
    )
  })

  it('that is no JSON is refused', async () => {
    const request = { body: { kind: 'malformed', why: 'no JSON' } } as const
    const invalid = { answer: 'invalid', problem: { message: 'no JSON', code: 'invalid_json' } }
    expect(await validated({ request })).toMatchObject(invalid)
  })

  it('of a request that carries nothing is a probe, which is not checked', async () => {
    const probe = { answer: 'probe', problem: undefined, retryAfterMs: undefined }
    const query = { wrong: true }
    expect(await validated({ request: { query } })).toEqual({ ...probe, input: {} })
    expect(await validated({ def: GET, request: { query } })).toEqual({ ...probe, input: query })
  })

  it.each<[string, Partial<ChargeDeps>, string, boolean]>([
    ['a window covers is refused', selling(), 'invalid', false],
    ['no window covers is a probe', selling(null), 'probe', true],
    ['may be of a window is refused while the store is silent', { subscriptions: DOWN }, 'invalid', false],
  ])('of a bare request that %s', async (_, world, answer, isProbe) => {
    const given: Given = {
      world,
      endpoint: { ...window, check: refusing },
      request: { subscriptionKey: KEY },
    }
    const problem = isProbe ? undefined : refused
    expect(await validated(given)).toEqual({
      answer,
      key: isProbe ? undefined : KEY,
      problem,
      input: isProbe ? {} : undefined,
      retryAfterMs: undefined,
    })
  })

  it('of a bare request with a key is as valid as any', async () => {
    const given: Given = { world: { subscriptions: DOWN }, request: { subscriptionKey: KEY } }
    expect(await validated(given)).toMatchObject({ answer: 'valid' })
  })

  it('is refused where a payment comes with it, whatever its key opens', async () => {
    const endpoint = { ...window, check: refusing }
    const given: Given = { world: selling(null), endpoint, paid: {}, request: { subscriptionKey: KEY } }
    expect(await validated(given)).toMatchObject({ answer: 'invalid', problem: refused })
  })
})

describe('a window', () => {
  const covered = async (given: Given) => {
    const { ended, call } = oneCall({ endpoint: window, request: { subscriptionKey: KEY }, ...given })
    return { answer: (await ended(entitle)).answer, problem: call.end.problem?.code }
  }

  it.each<[string, Given, string]>([
    ['covers a call until its last moment', { world: selling() }, 'covered'],
    ['covers none from its end on', { world: selling({ expiresAtMs: START_MS }) }, 'uncovered'],
    ['ends by the time of the store', { world: selling({}, () => START_MS + 1) }, 'uncovered'],
    ['opens the endpoint that sold it alone', { world: selling({ endpoint: 'other' }) }, 'uncovered'],
    ['that was never sold covers nothing', { world: selling(null) }, 'uncovered'],
    ['of another key covers nothing', { world: selling(), request: { subscriptionKey: 'no' } }, 'uncovered'],
    ['is not asked for without a key', { world: { subscriptions: DOWN }, request: {} }, 'uncovered'],
    ['lasts where single calls are sold since', { world: selling(), endpoint: {} }, 'covered'],
  ])('%s', async (_, given, answer) => {
    expect(await covered(given)).toEqual({ answer, problem: undefined })
  })

  it('is neither open nor closed while its store is silent', async () => {
    const silent = { answer: 'storeDown', problem: 'store_unavailable' }
    expect(await covered({ world: { subscriptions: DOWN } })).toEqual(silent)
  })
})

describe('the price', () => {
  const supporting = (feePayer?: string) =>
    ({ supported: async () => ({ network: '', feePayer }) }) as unknown as ChargeDeps['facilitator']
  const priced = async (given: Given) => {
    const { call, ended } = oneCall(given)
    const { answer, ms } = await ended(price)
    const { requirements, refusal, problem } = fieldsOf(call)
    return { answer, ms, requirements, refusal, problem }
  }

  it('is asked of a caller who brings no payment, in our terms', async () => {
    const { answer, refusal, requirements } = await priced({ world: { facilitator: supporting('FEES') } })
    expect({ answer, refusal }).toEqual({ answer: 'unpaid', refusal: UNPAID })
    const asked = { amount: '10000', asset: TESTNET_USDC, payTo: SELLER, network: CAIP2.testnet }
    expect(requirements).toMatchObject({ ...asked, extra: { feePayer: 'FEES' } })
    expect((await priced({})).requirements).toMatchObject({ ...asked, extra: {} })
  })

  it('is asked again of a caller whose payment cannot be read', async () => {
    const request = { payment: { kind: 'malformed', why: 'no base64' } } as const
    expect(await priced({ request })).toMatchObject({
      answer: 'malformed',
      refusal: 'no base64',
      requirements: { amount: '10000' },
    })
  })

  const accepted = {
    scheme: 'exact',
    network: CAIP2.testnet,
    amount: '10000',
    asset: TESTNET_USDC,
    payTo: SELLER,
  }
  it.each<[string, Given]>([
    ['by a transaction of just that', { paid: {} }],
    ['by a payment that repeats our terms', { paid: {}, payload: { accepted } }],
    ['by one that nothing can be read in', { paid: 'unreadable' }],
  ])('is met %s', async (_, given) => {
    expect(await priced(given)).toMatchObject({ answer: 'presented', refusal: undefined })
  })

  it.each<[string, string, Given]>([
    ['less', 'does not pay', { paid: { amount: 9_999n } }],
    ['more', 'does not pay', { paid: { amount: 10_001n } }],
    ['another asset', 'does not pay', { paid: { asset: '1' } }],
    ['somebody else', 'does not pay', { paid: { receiver: 'OTHER' } }],
    ['on another network', 'does not pay', { paid: { genesisHash: MAINNET.genesisHash } }],
    ['by other terms', 'other terms', { paid: {}, payload: { accepted: { ...accepted, amount: '1' } } }],
    ['by terms that are none', 'other terms', { paid: {}, payload: { accepted: null } }],
    ['by several terms', 'other terms', { paid: {}, payload: { accepted: [accepted] } }],
    ['what cannot be read', 'can be read', { paid: 'unreadable', rules: { requireReadable: true } }],
    ['for what a balance alone pays for', 'Only a balance', { paid: {}, def: { only: 'balance' } as never }],
    ['part of its group', 'are not those', { paid: { groupProblem: 'notWhole' } }],
    ['in no round', 'no valid round in common', { paid: { groupProblem: 'noCommonRound' } }],
    ['and does more', 'does more than pay', { paid: { groupProblem: 'notPlain' } }],
    ['and moves more', 'A second transaction', { paid: { groupProblem: 'anotherTransfer' } }],
  ])('is not met by a payment that pays %s', async (_, why, given) => {
    const { answer, refusal } = await priced(given)
    expect(answer).toBe('mismatched')
    expect(refusal).toContain(why)
  })

  it.each<[string, Given['paid'], boolean | undefined, string, object?]>([
    ['has landed: it is presented, and spent', { amount: 9_999n }, true, 'presented'],
    ['has not landed', { amount: 9_999n }, false, 'mismatched'],
    ['may have landed: the node does not answer', { amount: 9_999n }, undefined, 'mismatched'],
    ['landed, and whose payer did not sign it', { amount: 9_999n, proven: () => false }, true, 'mismatched'],
    ['landed for somebody else', { receiver: 'OTHER' }, true, 'mismatched'],
    ['landed before a balance alone paid', {}, true, 'presented', { only: 'balance' }],
    ['did not land before a balance alone pays', {}, false, 'mismatched', { only: 'balance' }],
  ])('is not met by a payment of an earlier price that %s', async (_, paid, landed, answer, def) => {
    const chain = { round: async () => undefined, hasLanded: async () => landed }
    const { call, ended } = oneCall({ paid: paid!, def: def as never, world: { chain } as never })
    expect((await ended(price)).answer).toBe(answer)
    if (answer === 'presented') expect((await ended(verify)).answer).toBe('spent')
    else expect(call.end.refusal).toContain(def ? 'Only a balance' : 'does not pay')
  })

  it('is asked for in the spelling of the network that the payment has', async () => {
    const paidIn = async (network: string) =>
      (await priced({ paid: {}, payload: { accepted: { ...accepted, network } } })).requirements
    const [short, whole] = [await paidIn(CAIP2.testnet), await paidIn(TESTNET.wholeHashId)]
    expect(short).toMatchObject({ network: CAIP2.testnet })
    expect(whole).toEqual({ ...short, network: TESTNET.wholeHashId })
    expect(await paidIn(MAINNET.wholeHashId)).toEqual(short)
  })

  describe('that a function gives', () => {
    const asking = (ask: () => unknown, given: Given = {}) =>
      priced({ ...given, def: { price: ask as never, amount: undefined as never, ...given.def } })

    it('is the one that is asked, and held against the payment', async () => {
      const dear = async () => '$0.02'
      expect(await asking(dear)).toMatchObject({ answer: 'unpaid', requirements: { amount: '20000' } })
      expect((await asking(dear, { paid: {} })).answer).toBe('mismatched')
      expect((await asking(dear, { paid: { amount: 20_000n } })).answer).toBe('presented')
    })

    it('is waited for no longer than its budget', async () => {
      const { answer, ms, requirements, problem } = await asking(() => new Promise(() => {}))
      expect({ answer, ms, requirements }).toEqual({
        answer: 'unpriceable',
        ms: 5_000,
        requirements: undefined,
      })
      expect(problem!.message).toContain('price function failed')
    })

    const fails = (cause: unknown) => () => Promise.reject(cause)
    it.each<[string, () => unknown]>([
      ['failed', fails(new Error('secret'))],
      ['failed', fails(new SvcError('secret', 'upstream_down'))],
      ['failed', fails(Object.assign(new Error('secret'), { code: 'invalid_price' }))],
      ['failed', fails(undefined)],
      ['did not return a positive USD amount', () => 'secret'],
      ['did not return a positive USD amount', () => '$0'],
    ])('and %s cannot be charged; its words are for the log', async (what, ask) => {
      const { answer, requirements, problem } = await asking(ask, { paid: {} })
      expect({ answer, requirements }).toEqual({ answer: 'unpriceable', requirements: undefined })
      expect(problem!.message).toContain(what)
      expect(problem!.message).not.toContain('secret')
    })
  })
})
