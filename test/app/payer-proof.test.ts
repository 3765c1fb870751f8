/** The proof of the payer in a request: whose it is, with what it is compared, and that a bad one takes nothing. */
import { describe, expect, it } from 'vitest'
import { proveCaller } from '../../src/app/charge/check-payer-proof.js'
import { CAIP2, TESTNET } from '../../src/domain/network.js'
import type { PayerProof } from '../../src/domain/sign-in-with-x.js'
import type { ChargeRequest } from '../../src/ports/charge.js'
import { fieldsOf } from '../support/call-fields.js'
import { type Given, oneCall } from '../support/one-call.js'
import { type Opening, opened } from '../support/opened-call.js'

/** The moment at which a call of these tests begins. */
const NOW = '1970-01-01T00:16:40Z'
const SIGNATURE = `${'S'.repeat(86)}==`
const PROOF: PayerProof = {
  domain: 'agent.test',
  address: 'PAYER',
  uri: 'http://agent.test/work',
  version: '1',
  chainId: CAIP2.testnet,
  type: 'ed25519',
  nonce: '0123456789abcdef',
  issuedAt: NOW,
  requestId: 'TX',
  signature: SIGNATURE,
}
const SIGNED = [
  'MXagent.test wants you to sign in with your Algorand account:',
  'PAYER',
  '',
  'URI: http://agent.test/work',
  'Version: 1',
  'Chain ID: SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe',
  'Nonce: 0123456789abcdef',
  'Issued At: 1970-01-01T00:16:40Z',
  'Request ID: TX',
].join('\n')

type Proof = ChargeRequest['proof']
const read = (over: Partial<PayerProof> = {}): Proof => ({ kind: 'read', value: { ...PROOF, ...over } })

/** A request with a payment that the payer signed, and a proof. `asked`: which signatures were checked. */
function proving(proof: Proof, { paid = {}, ...given }: Given = {}, isGood = true) {
  const asked: [string, string][] = []
  const isSignedByPayer = (bytes: Uint8Array, signature: string) => {
    asked.push([Buffer.from(bytes).toString(), signature])
    return isGood
  }
  const request = { ...(proof && { proof }), ...given.request }
  const payment = paid === 'unreadable' ? paid : { isSignedByPayer, ...paid }
  return { given: { ...given, paid: payment, request }, asked }
}

function proven(...[proof, given, isGood]: Parameters<typeof proving>) {
  const it = proving(proof, given, isGood)
  const { world, call } = oneCall(it.given)
  const problem = proveCaller(world, call)
  return { code: problem?.code, message: problem?.message, isProven: call.payment.isProven, asked: it.asked }
}

const IGNORED = { code: undefined, isProven: false, asked: [] }

describe('a proof', () => {
  it('of the payer is checked over the text that it signed, with the key that signed the payment', () => {
    expect(proven(read())).toEqual({
      code: undefined,
      message: undefined,
      isProven: true,
      asked: [[SIGNED, SIGNATURE]],
    })
  })

  it('is none where a request has none', () => {
    for (const none of [undefined, { kind: 'none' }] as const) expect(proven(none)).toMatchObject(IGNORED)
  })

  it('may name the network in either spelling', () => {
    const { isProven, asked } = proven(read({ chainId: TESTNET.wholeHashId }))
    expect(isProven).toBe(true)
    expect(asked[0]![0]).toContain('Chain ID: SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI=\n')
  })

  it.each([CAIP2.mainnet, 'eip155:8453', 'SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe', 'algorand:', ''])(
    'for the chain %j is for another seller: it is neither refused nor proves anything',
    chainId => {
      expect(proven(read({ chainId }))).toMatchObject(IGNORED)
      expect(proven(read({ chainId, domain: 'other', signature: '', nonce: '' }))).toMatchObject(IGNORED)
    },
  )

  it.each<[string, Proof, Given, string]>([
    ['that is none', { kind: 'malformed', why: '' }, {}, 'invalid_siwx_malformed_signature'],
    ['for another host', read({ domain: 'other.test' }), {}, 'invalid_siwx_domain_mismatch'],
    ['for another port', read({ uri: 'https://agent.test:8443/work' }), {}, 'invalid_siwx_uri_mismatch'],
    ['for the URL of another host', read({ uri: 'http://other.test/work' }), {}, 'invalid_siwx_uri_mismatch'],
    ['for another port', read({ uri: 'https://agent.test:8443/work' }), {}, 'invalid_siwx_uri_mismatch'],
    ['without a time', read({ issuedAt: 'now' }), {}, 'invalid_siwx_issued_at'],
    [
      'that is five minutes old',
      read({ issuedAt: '1970-01-01T00:11:39.999Z' }),
      {},
      'invalid_siwx_issued_at_too_old',
    ],
    ['of the future', read({ issuedAt: '1970-01-01T00:17:40.001Z' }), {}, 'invalid_siwx_issued_at_in_future'],
    ['without an end', read({ expirationTime: 'soon' }), {}, 'invalid_siwx_expiration_time'],
    ['that is over', read({ expirationTime: NOW }), {}, 'invalid_siwx_expired'],
    ['without a beginning', read({ notBefore: 'soon' }), {}, 'invalid_siwx_not_before'],
    ['that has not begun', read({ notBefore: '1970-01-01T01:00:00Z' }), {}, 'invalid_siwx_not_yet_valid'],
    ['with a short nonce', read({ nonce: 'short' }), {}, 'invalid_siwx_nonce'],
    ['with no signature', read({ signature: 'short' }), {}, 'invalid_siwx_malformed_signature'],
    ['for another payment', read({ requestId: 'OTHER' }), {}, 'invalid_siwx_request'],
    ['of another payer', read({ address: 'OTHER' }), {}, 'invalid_siwx_request'],
    ['beside another payment', read(), { paid: { txId: 'OTHER' } }, 'invalid_siwx_request'],
    ['beside the payment of another', read(), { paid: { payer: 'OTHER' } }, 'invalid_siwx_request'],
    ['beside an unreadable payment', read(), { paid: 'unreadable' }, 'invalid_siwx_request'],
    ['beside no payment', read(), { reader: { read: () => undefined } }, 'invalid_siwx_request'],
  ])('%s is refused before a signature is checked', (_, proof, given, code) => {
    const { message, ...rest } = proven(proof, given)
    expect(rest).toEqual({ code, isProven: false, asked: [] })
    expect(message).toMatch(/^SIGN-IN-WITH-X is refused: [a-z]+ .+\. You were not charged\.$/)
  })

  it('that another key signed is refused', () => {
    const { message, ...rest } = proven(read(), {}, false)
    const asked = [[SIGNED, SIGNATURE]]
    expect(rest).toEqual({ code: 'invalid_siwx_signature', isProven: false, asked })
    expect(message).toContain('the key that signed the payment did not sign it')
  })

  it('is believed within five minutes and one of difference between clocks', () => {
    for (const issuedAt of ['1970-01-01T00:11:40Z', '1970-01-01T00:17:40Z'])
      expect(proven(read({ issuedAt })).isProven).toBe(true)
  })
})

describe('the address that a proof is for', () => {
  const other = read({ domain: 'shop.example', uri: 'https://shop.example/work' })

  it('is the one that the caller asks', () => {
    const request = { baseUrl: 'https://shop.example' }
    expect(proven(other, { request }).isProven).toBe(true)
    expect(proven(read(), { request }).code).toBe('invalid_siwx_domain_mismatch')
  })

  it('is the agent’s own where the seller says it, whatever host the caller names', () => {
    const rules = { publicUrl: 'https://shop.example' }
    expect(proven(other, { rules }).isProven).toBe(true)
    // A stranger who holds the proof cannot choose the address that it is compared with.
    expect(proven(read(), { rules })).toMatchObject({ code: 'invalid_siwx_domain_mismatch', isProven: false })
  })
})

describe('a request with a proof', () => {
  const keyed = (given: Opening = {}): Opening => ({ key: 'short', ...given })

  it('that is bad holds nothing and asks no store, however good its payment and its key are', async () => {
    for (const given of [{}, keyed(), { key: 'k'.repeat(40) }, { request: { task: 'id' } }]) {
      for (const [proof, isGood] of [
        [{ kind: 'malformed', why: '' }, true],
        [read({ requestId: 'OTHER' }), true],
        [read(), false],
      ] as const) {
        const { answer, moves, kept, call } = await opened(proving(proof, given, isGood).given as Opening)
        expect({ answer, moves, kept }).toEqual({ answer: 'unusableKey', moves: [], kept: [] })
        expect(fieldsOf(call)).toMatchObject({
          held: false,
          owned: undefined,
          problem: { code: expect.stringMatching(/^invalid_siwx_/) },
        })
      }
    }
  })

  it('that is bad is refused also where it brings no payment', async () => {
    const { answer, call } = await opened({ request: { proof: read()! } })
    expect(answer).toBe('unusableKey')
    expect(call.end.problem!.code).toBe('invalid_siwx_request')
  })

  it.each<[string, Proof, boolean]>([
    ['that is good speaks for its payer', read(), false],
    ['for another chain speaks for nobody', read({ chainId: CAIP2.mainnet }), true],
    ['that it lacks is one that speaks for nobody', undefined, true],
  ])('%s', async (_, proof, isBearer) => {
    for (const given of [{}, keyed()]) {
      const { answer, moves } = await opened({ ...given, ...proving(proof, given).given } as Opening)
      expect(answer).toBe('opened')
      expect(moves.map(move => move.isBearer === true)).toEqual([isBearer])
    }
  })

  it('names what it names without one: a proof opens what the payment owns, and has no name of its own', async () => {
    for (const given of [{}, keyed()]) {
      const [one, other] = await Promise.all([
        opened({ ...given, ...proving(read(), given).given } as Opening),
        opened({ ...given, paid: {} } as Opening),
      ])
      expect(one.moves[0]!.claim).toEqual(other.moves[0]!.claim)
      expect(one.moves[0]!.answerName).toBe(other.moves[0]!.answerName)
    }
  })

  it('whose key cannot be accepted hears of the key first', async () => {
    const rules = { idempotency: { onLostResponse: 'replay', required: true } } as const
    const { given } = proving(read(), { rules }, false)
    const { answer, call } = await opened(given as Opening)
    expect([answer, call.end.problem?.code]).toEqual(['unusableKey', 'idempotency_key_required'])
  })
})
