/** The id in a payment, held against the official extension's own helpers. */
import {
  declarePaymentIdentifierExtension,
  extractPaymentIdentifier,
  isValidPaymentId,
  PAYMENT_IDENTIFIER as OFFICIAL_NAME,
  validatePaymentIdentifier,
} from '@x402/extensions/payment-identifier'
import { describe, expect, it } from 'vitest'
import {
  declaredIdentifier,
  identifierIn,
  isPaymentIdentifier,
  PAYMENT_IDENTIFIER,
  withIdentifier,
} from '../../src/domain/idempotency-key.js'

const ID = 'pay_7d5d747be160e280504c099d984bcfe0'
const carrying = (extension: unknown) => ({ extensions: { [PAYMENT_IDENTIFIER]: extension } })
const named = (id: unknown) => carrying({ ...declaredIdentifier(), info: { required: false, id } })

describe('the declaration', () => {
  it.each([true, false])('is the official one (required: %s)', required => {
    expect(PAYMENT_IDENTIFIER).toBe(OFFICIAL_NAME)
    expect(declaredIdentifier(required)).toEqual(declarePaymentIdentifierExtension(required))
  })
})

describe('an id', () => {
  const LETTERS = 'x'.repeat(200)
  it.each([
    ID,
    LETTERS.slice(0, 15),
    LETTERS.slice(0, 16),
    LETTERS.slice(0, 128),
    LETTERS.slice(0, 129),
    'with a space in it',
    'a-line-that-ends-here\n',
    'accents-are-not-allowed-é',
    'Upper_and-lower_0123456789',
    '',
  ])('%j is judged as the official helpers judge it', id => {
    expect(isPaymentIdentifier(id)).toBe(isValidPaymentId(id))
    expect(identifierIn(named(id))).toBe(isValidPaymentId(id) ? id : 'malformed')
    const official = extractPaymentIdentifier(named(id) as never)
    expect(official).toBe(isValidPaymentId(id) ? id : null)
  })

  it.each([5, true, {}, [ID], ['x']])('%j is none', id => {
    expect(isPaymentIdentifier(id)).toBe(false)
    expect(identifierIn(named(id))).toBe('malformed')
  })

  it.each([
    ['no extensions', {}],
    ['extensions that are no object', { extensions: [ID] }],
    ['other extensions', { extensions: { bazaar: { info: { id: 'x' } } } }],
    ['a declaration that was only copied', carrying(declaredIdentifier(true))],
    ['an id that a library wrote as null', named(null)],
    ['an extension that a library wrote as null', carrying(null)],
  ])('is absent: %s', (_, payload) => {
    expect(identifierIn(payload)).toBeUndefined()
  })

  it.each([
    ['a text', ID],
    ['a list', []],
    ['no info', {}],
    ['info that is a text', { info: ID }],
  ])('is malformed where the extension is %s', (_, extension) => {
    expect(identifierIn(carrying(extension))).toBe('malformed')
  })
})

describe('a payment', () => {
  const declared = { ...carrying(declaredIdentifier(true)), payload: 'signed' }

  it('is named by its key, as the official helper reads it', () => {
    const payload = withIdentifier(declared, ID)
    expect(extractPaymentIdentifier(payload as never)).toBe(ID)
    const extension = (payload.extensions as Record<string, unknown>)[PAYMENT_IDENTIFIER]
    expect(validatePaymentIdentifier(extension)).toEqual({ valid: true })
    expect(payload).toMatchObject({ payload: 'signed' })
    expect(identifierIn(declared)).toBeUndefined()
  })

  it('keeps its other extensions', () => {
    const payload = { extensions: { ...declared.extensions, bazaar: { info: 1 } } }
    expect(withIdentifier(payload, ID).extensions).toMatchObject({ bazaar: { info: 1 } })
  })

  it.each([
    ['of a seller without extensions', {}],
    ['of a seller without this extension', { extensions: { bazaar: {} } }],
    ['of a seller whose declaration cannot be read', carrying({ info: 'x' })],
  ])('%s stays as it is', (_, payload) => {
    expect(withIdentifier(payload, ID)).toEqual(payload)
  })

  it('has no id where the key is not allowed as one, and none that the seller chose', () => {
    expect(withIdentifier(declared, 'order 5')).toEqual(declared)
    expect(identifierIn(withIdentifier(named(ID), 'order 5'))).toBeUndefined()
    expect(identifierIn(withIdentifier(named(ID), 'x'.repeat(20)))).toBe('x'.repeat(20))
  })
})
