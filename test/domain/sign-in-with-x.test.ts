/** The proof of a payer, as text: which bytes are signed, what is no proof at all, and why a proof is refused. */
import { formatSIWSMessage, parseSIWxHeader } from '@x402/extensions/sign-in-with-x'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { textToBase64 } from '../../src/domain/bytes.js'
import { CAIP2, TESTNET } from '../../src/domain/network.js'
import {
  checkProof,
  declaredSignIn,
  type PayerProof,
  proofBytes,
  readProof,
  SIGN_IN_WITH_X,
  SIGN_IN_WITH_X_HEADER,
} from '../../src/domain/sign-in-with-x.js'

const PAYER = 'GE2DKNRXHA4TAMJSGM2DKNRXHA4TAMJSGM2DKNRXHA4TAMJSGM2DKNRXHA'
const TX = 'DFS5QE3G6ERDRUCTYQNVJMTI2QHZB7F2T34MFKBEG2WUHVP65O6A'
const ISSUED_AT = '2026-01-02T03:04:05Z'
const ISSUED_MS = 1_767_323_045_000
const SIGNATURE = `${'A'.repeat(86)}==`

const PROOF: PayerProof = {
  domain: 'agent.example:8443',
  address: PAYER,
  uri: 'https://agent.example:8443/work?q=é',
  version: '1',
  chainId: CAIP2.testnet,
  type: 'ed25519',
  nonce: 'Abc0123456789xyZ',
  issuedAt: ISSUED_AT,
  requestId: TX,
  signature: SIGNATURE,
}
const OPTIONAL = { expirationTime: '2026-01-02T03:09:05Z', notBefore: '2026-01-02T03:04:04Z' }
const FULL: PayerProof = { ...PROOF, ...OPTIONAL }
const NAMES = Object.keys(FULL) as (keyof PayerProof)[]

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
const MALFORMED = { kind: 'malformed' }

describe('the bytes that a payer signs', () => {
  const head = [
    'MXagent.example:8443 wants you to sign in with your Algorand account:',
    'GE2DKNRXHA4TAMJSGM2DKNRXHA4TAMJSGM2DKNRXHA4TAMJSGM2DKNRXHA',
    '',
    'URI: https://agent.example:8443/work?q=\xc3\xa9',
    'Version: 1',
    'Chain ID: SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe',
    'Nonce: Abc0123456789xyZ',
    'Issued At: 2026-01-02T03:04:05Z',
  ]
  const ends = ['Expiration Time: 2026-01-02T03:09:05Z', 'Not Before: 2026-01-02T03:04:04Z']
  const last = 'Request ID: DFS5QE3G6ERDRUCTYQNVJMTI2QHZB7F2T34MFKBEG2WUHVP65O6A'

  it.each<[string, PayerProof, string[]]>([
    ['no times', PROOF, [...head, last]],
    ['both times', FULL, [...head, ...ends, last]],
    ['an end', { ...PROOF, expirationTime: OPTIONAL.expirationTime }, [...head, ends[0]!, last]],
    ['a beginning', { ...PROOF, notBefore: OPTIONAL.notBefore }, [...head, ends[1]!, last]],
  ])('are "MX" and the lines of CAIP-122 in UTF-8, with %s', (_, proof, lines) => {
    expect(hex(proofBytes(proof))).toBe(Buffer.from(lines.join('\n'), 'latin1').toString('hex'))
  })

  it('name the chain by what follows the first colon of its id', () => {
    const lines = (chainId: string) =>
      Buffer.from(proofBytes({ ...PROOF, chainId }))
        .toString()
        .split('\n')
    expect(lines(TESTNET.wholeHashId)[5]).toBe('Chain ID: SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI=')
    expect(lines('algorand:a:b')[5]).toBe('Chain ID: a:b')
  })

  const text = fc.string({ maxLength: 40 })
  const anyProof = fc.record(
    Object.fromEntries(NAMES.map(name => [name, text])) as Record<keyof PayerProof, typeof text>,
    { requiredKeys: NAMES.filter(name => !(name in OPTIONAL)) },
  ) as fc.Arbitrary<PayerProof>

  it('are the text of the official library, for another chain', () => {
    const given = fc.tuple(anyProof, text).map(([proof, reference]) => ({
      ...proof,
      chainId: `solana:${reference.replaceAll(':', '')}`,
      // The library ends the reference at a second colon, and leaves out what is empty.
      requestId: `${proof.requestId}.`,
      ...(proof.expirationTime === '' && { expirationTime: undefined }),
      ...(proof.notBefore === '' && { notBefore: undefined }),
    }))
    fc.assert(
      fc.property(given, proof => {
        const official = formatSIWSMessage(proof as never, proof.address)
        const ours = Buffer.from(proofBytes(proof as PayerProof)).toString()
        expect(ours).toBe(`MX${official.replace('your Solana account', 'your Algorand account')}`)
      }),
    )
  })

  it('are others for each other proof: no field can pass for another', () => {
    const said = ({ signature, version, type, chainId, ...rest }: PayerProof) => ({
      ...rest,
      chainId: chainId.slice(chainId.indexOf(':') + 1),
    })
    // Fields that look like lines of the text, and fields of nothing else.
    const tricky = fc.constantFrom('', 'x', 'Nonce: x', 'x Request ID: x', 'URI: ', ': ')
    const twisted = fc.tuple(anyProof, fc.subarray(NAMES), tricky).map(([proof, names, other]) => ({
      ...proof,
      ...Object.fromEntries(names.map(name => [name, other])),
    }))
    fc.assert(
      fc.property(twisted, twisted, (one, other) => {
        const fixed = (proof: PayerProof) => proofBytes({ ...proof, version: '1', type: 'ed25519' })
        const isSame =
          JSON.stringify(Object.entries(said(one)).sort()) ===
          JSON.stringify(Object.entries(said(other)).sort())
        expect(hex(fixed(one)) === hex(fixed(other))).toBe(isSame)
      }),
      { numRuns: 300 },
    )
    for (const name of NAMES.filter(name => !['version', 'type', 'signature'].includes(name)))
      expect(hex(proofBytes({ ...FULL, [name]: `${FULL[name]}.` }))).not.toBe(hex(proofBytes(FULL)))
  })
})

describe('a header', () => {
  it('has its official name, and what is in it the official form', () => {
    expect([SIGN_IN_WITH_X, SIGN_IN_WITH_X_HEADER]).toEqual(['sign-in-with-x', 'SIGN-IN-WITH-X'])
    expect(parseSIWxHeader(encoded(FULL))).toEqual(FULL)
  })

  it('is a proof where it has the fields of one', () => {
    for (const proof of [PROOF, FULL])
      expect(readProof(encoded(proof))).toEqual({ kind: 'read', value: proof })
    expect(readProof(undefined)).toEqual({ kind: 'none' })
  })

  it.each<[string, unknown]>([
    ['empty text', ''],
    ['no base64', '{}'],
    ['base64url', Buffer.from(JSON.stringify({ ...PROOF, uri: '~~~???' })).toString('base64url')],
    ['no JSON', Buffer.from('proof').toString('base64')],
    ['the JSON of null', encoded(null)],
    ['the JSON of a list', encoded([PROOF])],
    ['the JSON of a text', encoded(encoded(PROOF))],
    ['an object, not a text', PROOF],
    ['null', null],
    ['a number', 7],
    ['a list of a proof', [encoded(PROOF)]],
  ])('of %s is malformed', (_, header) => {
    expect(readProof(header)).toMatchObject(MALFORMED)
  })

  it.each(Object.keys(PROOF))('without %s is malformed', name => {
    const { [name as 'nonce']: _, ...rest } = FULL
    expect(readProof(encoded(rest))).toMatchObject(MALFORMED)
  })

  it.each(NAMES)('whose %s is no text is malformed', name => {
    for (const value of [7, 1.5, true, null, [], [FULL[name]], {}])
      expect(readProof(encoded({ ...FULL, [name]: value }))).toMatchObject(MALFORMED)
  })

  it.each(NAMES)('with a control character anywhere in %s is malformed', name => {
    for (let code = 0; code < 0x20; code++) {
      const character = String.fromCharCode(code)
      const text = String(FULL[name])
      for (const value of [
        character + text,
        `${text.slice(0, 1)}${character}${text.slice(1)}`,
        text + character,
      ])
        expect(readProof(encoded({ ...FULL, [name]: value })), `${name} ${code}`).toMatchObject(MALFORMED)
    }
  })

  it('may hold a space, and what stands above it', () => {
    const value = { ...PROOF, uri: 'https://agent.example:8443/a b\u{7f}\u{1f680}' }
    expect(readProof(encoded(value))).toEqual({ kind: 'read', value })
  })

  it.each(['statement', 'resources', 'signatureScheme', 'Domain', 'toString', '__proto__'])(
    'with a field %s besides is malformed',
    name => {
      const text = `${JSON.stringify(PROOF).slice(0, -1)},${JSON.stringify(name)}:"x"}`
      expect(readProof(Buffer.from(text).toString('base64'))).toMatchObject(MALFORMED)
    },
  )

  it.each([{ version: '2' }, { version: '' }, { type: 'eip191' }, { type: 'ED25519' }])(
    'of %j is malformed',
    over => {
      expect(readProof(encoded({ ...PROOF, ...over }))).toMatchObject(MALFORMED)
    },
  )

  it('has fields of 2,048 characters, and 8,192 in all, at most', () => {
    for (const [length, kind] of [
      [2_048, 'read'],
      [2_049, 'malformed'],
    ] as const)
      for (const name of ['domain', 'expirationTime'])
        expect(readProof(encoded({ ...FULL, [name]: 'x'.repeat(length) }))).toMatchObject({ kind })
    const long = { ...PROOF, domain: 'x'.repeat(2_000), uri: 'x'.repeat(2_000) }
    const free = 6_144 - JSON.stringify({ ...long, nonce: '' }).length
    const filled = (length: number) => encoded({ ...long, nonce: 'x'.repeat(length) })
    expect(filled(free)).toHaveLength(8_192)
    expect(readProof(filled(free))).toMatchObject({ kind: 'read' })
    expect(readProof(filled(free + 1))).toMatchObject(MALFORMED)
  })

  it('with anything in one of its fields is a proof if that is plain text, and never throws', () => {
    const given = fc.tuple(fc.constantFrom(...NAMES), fc.oneof(fc.json(), fc.string({ unit: 'binary' })))
    fc.assert(
      fc.property(given, fc.boolean(), ([name, text], isJson) => {
        const value: unknown = isJson ? jsonOr(text) : text
        const fixed = { version: '1', type: 'ed25519' } as Record<string, unknown>
        const isPlain = typeof value === 'string' && [...value].every(character => character >= ' ')
        const isProof = name in fixed ? value === fixed[name] : isPlain
        expect(readProof(encoded({ ...FULL, [name]: value })).kind).toBe(isProof ? 'read' : 'malformed')
      }),
      { numRuns: 150 },
    )
  })

  it('of anything else is malformed, and never throws', () => {
    fc.assert(
      fc.property(fc.anything(), fc.json(), (value, json) => {
        if (value !== undefined) expect(readProof(value)).toMatchObject(MALFORMED)
        expect(readProof(Buffer.from(json).toString('base64'))).toMatchObject(MALFORMED)
      }),
      { numRuns: 400 },
    )
  })
})

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

describe('a proof', () => {
  const EXPECTED = {
    origin: 'https://agent.example:8443',
    nowMs: ISSUED_MS,
    payment: { txId: TX, payer: PAYER },
  }
  const refusalOf = (over: Partial<PayerProof>, expected: Partial<typeof EXPECTED> = {}) =>
    checkProof({ ...PROOF, ...over }, { ...EXPECTED, ...expected })
  const at = (ms: number) => new Date(ms).toISOString()

  it('of this payment, made now for this address, is not refused', () => {
    expect(refusalOf({})).toBeUndefined()
    expect(refusalOf(OPTIONAL)).toBeUndefined()
  })

  it.each<[string, Partial<PayerProof>, string?]>([
    ['no port', { domain: 'agent.example' }],
    ['another port', { domain: 'agent.example:8444' }],
    ['a longer name', { domain: 'my.agent.example:8443' }],
    ['a name that only begins so', { domain: 'agent.example:8443.evil.example' }],
    ['a name in capitals', { domain: 'AGENT.example:8443' }],
    ['an origin', { domain: 'https://agent.example:8443' }],
    ['nothing', { domain: '' }],
    ['the word undefined, for an address that is no URL', { domain: 'undefined' }, 'agent.example'],
    ['nothing, for an address that is no URL', { domain: undefined, uri: '/' } as never, 'agent.example'],
  ])('whose domain is %s is for another host', (_, over, origin = EXPECTED.origin) => {
    expect(refusalOf(over, { origin })).toBe('invalid_siwx_domain_mismatch')
  })

  it('names the port of its address unless that is the usual one', () => {
    const uri = 'https://agent.example/work'
    for (const origin of [
      'https://agent.example',
      'https://agent.example:443',
      'https://agent.example/api/',
    ]) {
      expect(refusalOf({ domain: 'agent.example', uri }, { origin })).toBeUndefined()
      expect(refusalOf({ domain: 'agent.example:443', uri }, { origin })).toBe('invalid_siwx_domain_mismatch')
    }
  })

  it.each([
    'https://agent.example/work',
    'https://agent.example:8444/work',
    'https://agent.example:8443@evil.example/work',
    'https://agent.example.evil.example:8443/work',
    'agent.example:8443/work',
    '/work',
    '',
  ])('whose uri is %s is for another address', uri => {
    expect(refusalOf({ uri })).toBe('invalid_siwx_uri_mismatch')
  })

  it('may be for any path of its address, and for https where the server sees http', () => {
    for (const path of ['', '/', '/other?x=1#y'])
      expect(refusalOf({ uri: `https://agent.example:8443${path}` })).toBeUndefined()
    const uri = 'https://agent.example/work'
    for (const origin of ['http://agent.example', 'https://agent.example'])
      expect(refusalOf({ domain: 'agent.example', uri }, { origin })).toBeUndefined()
  })

  it.each<[string, number, Partial<PayerProof>, string | undefined]>([
    ['five minutes old', ISSUED_MS + 300_000, {}, undefined],
    ['older', ISSUED_MS + 300_001, {}, 'invalid_siwx_issued_at_too_old'],
    ['of a clock that is a minute ahead', ISSUED_MS - 60_000, {}, undefined],
    ['of the future', ISSUED_MS - 60_001, {}, 'invalid_siwx_issued_at_in_future'],
    ['about to end', ISSUED_MS, { expirationTime: at(ISSUED_MS + 1) }, undefined],
    ['over', ISSUED_MS, { expirationTime: at(ISSUED_MS) }, 'invalid_siwx_expired'],
    ['long over', ISSUED_MS, { expirationTime: at(0) }, 'invalid_siwx_expired'],
    ['long begun', ISSUED_MS, { notBefore: at(0) }, undefined],
    ['a minute from its beginning', ISSUED_MS, { notBefore: at(ISSUED_MS + 60_000) }, undefined],
    ['not begun', ISSUED_MS, { notBefore: at(ISSUED_MS + 60_001) }, 'invalid_siwx_not_yet_valid'],
    ['made elsewhere', ISSUED_MS, { issuedAt: '2026-01-02T05:34:05.123456789+02:30' }, undefined],
    ['made in whole seconds elsewhere', ISSUED_MS, { issuedAt: '2026-01-01T22:04:05-05:00' }, undefined],
  ])('that is %s', (_, nowMs, over, refusal) => {
    expect(refusalOf(over, { nowMs })).toBe(refusal)
  })

  it('lives no longer than five minutes, whatever end it names', () => {
    const expirationTime = at(ISSUED_MS + 3_600_000)
    expect(refusalOf({ expirationTime }, { nowMs: ISSUED_MS + 300_001 })).toBe(
      'invalid_siwx_issued_at_too_old',
    )
  })

  it.each([
    '',
    ' ',
    '2026-01-02',
    '2026-01-02T03:04Z',
    '2026-01-02T03:04:05',
    '2026-01-02 03:04:05Z',
    '2026-01-02T03:04:05z',
    '2026-01-02T03:04:05.Z',
    '2026-01-02T03:04:05.1234567890Z',
    '2026-01-02T03:04:05+0100',
    ' 2026-01-02T03:04:05Z',
    '2026-01-02T03:04:05Z ',
    '2026-13-02T03:04:05Z',
    '2026-01-02T25:04:05Z',
    '+002026-01-02T03:04:05Z',
    'Fri, 02 Jan 2026 03:04:05 GMT',
    'January 2, 2026 03:04:05 UTC',
    '1767323045000',
    'now',
  ])('with the time %j has no time', time => {
    expect(refusalOf({ issuedAt: time })).toBe('invalid_siwx_issued_at')
    expect(refusalOf({ expirationTime: time })).toBe('invalid_siwx_expiration_time')
    expect(refusalOf({ notBefore: time })).toBe('invalid_siwx_not_before')
  })

  it.each([
    ['x'.repeat(16), undefined],
    ['x'.repeat(64), undefined],
    ['x'.repeat(15), 'invalid_siwx_nonce'],
    ['x'.repeat(65), 'invalid_siwx_nonce'],
    ['', 'invalid_siwx_nonce'],
    [`${'x'.repeat(16)}-`, 'invalid_siwx_nonce'],
    [`${'x'.repeat(16)} `, 'invalid_siwx_nonce'],
    [`é${'x'.repeat(16)}`, 'invalid_siwx_nonce'],
    [`${'x'.repeat(16)}\n`, 'invalid_siwx_nonce'],
  ])('with the nonce %j', (nonce, refusal) => {
    expect(refusalOf({ nonce })).toBe(refusal)
  })

  it.each([
    '',
    'A'.repeat(86),
    'A'.repeat(88),
    `${'A'.repeat(82)}==`,
    `${'A'.repeat(87)}=`,
    `${'A'.repeat(90)}==`,
    `-${'A'.repeat(85)}==`,
    `${'A'.repeat(85)}_==`,
    `${SIGNATURE}\n`,
    ` ${SIGNATURE}`,
    'ab'.repeat(64),
  ])('with the signature %j has none', signature => {
    expect(refusalOf({ signature })).toBe('invalid_siwx_malformed_signature')
  })

  it('is for one payment and its payer', () => {
    const other = 'A'.repeat(52)
    expect(refusalOf({ requestId: other })).toBe('invalid_siwx_request')
    expect(refusalOf({ address: 'A'.repeat(58) })).toBe('invalid_siwx_request')
    expect(refusalOf({}, { payment: { txId: other, payer: PAYER } })).toBe('invalid_siwx_request')
    expect(refusalOf({}, { payment: { txId: TX, payer: 'A'.repeat(58) } })).toBe('invalid_siwx_request')
    expect(checkProof(PROOF, { ...EXPECTED, payment: undefined })).toBe('invalid_siwx_request')
  })

  it('with everything wrong is told one thing after the other, in the official order', () => {
    const wrongs: Partial<PayerProof>[] = [
      { domain: 'evil.example' },
      { uri: 'https://evil.example' },
      { issuedAt: 'now' },
      { expirationTime: at(0) },
      { notBefore: at(ISSUED_MS + 3_600_000) },
      { nonce: '' },
      { signature: '' },
      { requestId: '' },
    ]
    const told = wrongs.map((_, mended) => refusalOf(Object.assign({}, ...wrongs.slice(mended))))
    expect(told).toEqual([
      'invalid_siwx_domain_mismatch',
      'invalid_siwx_uri_mismatch',
      'invalid_siwx_issued_at',
      'invalid_siwx_expired',
      'invalid_siwx_not_yet_valid',
      'invalid_siwx_nonce',
      'invalid_siwx_malformed_signature',
      'invalid_siwx_request',
    ])
  })

  it('of any texts is refused with a code, and never throws', () => {
    const texts = fc.record(Object.fromEntries(NAMES.map(name => [name, fc.string({ unit: 'binary' })])))
    fc.assert(
      fc.property(texts, fc.subarray(NAMES), fc.webUrl(), (random, kept, origin) => {
        const own = Object.fromEntries(kept.map(name => [name, FULL[name]]))
        const proof = { ...random, ...own } as unknown as PayerProof
        for (const expected of [EXPECTED, { ...EXPECTED, origin }, { ...EXPECTED, origin: proof.uri }]) {
          const refusal = checkProof(proof, expected)
          if (refusal !== undefined) expect(refusal).toMatch(/^invalid_siwx_[a-z_]+$/)
          else expect(kept).toEqual(expect.arrayContaining(['domain', 'issuedAt', 'requestId', 'address']))
        }
      }),
      { numRuns: 300 },
    )
  })
})

describe('the declaration', () => {
  it('has the official fields, for the address and the chains that are given', () => {
    expect(declaredSignIn('https://agent.example:8443/api', [CAIP2.testnet, TESTNET.wholeHashId])).toEqual({
      info: {
        domain: 'agent.example:8443',
        uri: 'https://agent.example:8443/api',
        version: '1',
        nonce: '0000000000000000',
        issuedAt: '1970-01-01T00:00:00Z',
      },
      supportedChains: [
        { chainId: 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe', type: 'ed25519' },
        { chainId: 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI=', type: 'ed25519' },
      ],
      schema: { type: 'object', required: Object.keys(PROOF) },
    })
  })

  it('has no domain for an address that is no URL', () => {
    expect(declaredSignIn('agent.example', []).info).toMatchObject({ domain: '', uri: 'agent.example' })
  })
})

describe('a proof for another chain', () => {
  it.each(['eip155:8453', 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'])(
    '%s is another seller’s, whatever its fields',
    chainId => {
      const text = textToBase64(
        JSON.stringify({ chainId, type: 'eip191', statement: 'hello', resources: [] }),
      )
      expect(readProof(text)).toEqual({ kind: 'none' })
    },
  )
})
