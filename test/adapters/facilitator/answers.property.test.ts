import fc from 'fast-check'
import { expect, test } from 'vitest'
import { settlementOf, verificationOf } from '../../../src/adapters/facilitator/verdict-of-response.js'
import { text } from '../../support/fake-facilitator.js'
import { newPayment, REQUIREMENTS, start } from './setup.js'

const nearlyRight = fc.oneof(
  fc.constantFrom<unknown>(true, false, 'true', 'false', 1, 0, null, '', 'TX', 'settlement_failed', {}, []),
  fc.jsonValue(),
)
const body = fc.oneof(
  fc.dictionary(fc.string(), fc.jsonValue()),
  fc.record(
    {
      isValid: nearlyRight,
      invalidReason: nearlyRight,
      success: nearlyRight,
      transaction: nearlyRight,
      txId: nearlyRight,
      errorReason: nearlyRight,
      errorMessage: nearlyRight,
      payer: nearlyRight,
      network: nearlyRight,
    },
    { requiredKeys: [] },
  ),
)
const status = fc.constantFrom(200, 201, 204, 302, 400, 402, 404, 429, 500, 502, 503)

test('whatever the JSON, only an exact yes under 200 is a yes, and a no carries an empty transaction', () => {
  fc.assert(
    fc.property(status, body, (code, answer) => {
      const fields = answer as Record<string, unknown>
      const verification = verificationOf({ status: code, body: fields })
      const settlement = settlementOf({ status: code, body: fields })
      expect(verification.verdict === 'valid').toBe(code === 200 && fields.isValid === true)
      expect(settlement.verdict === 'settled').toBe(code === 200 && fields.success === true)
      if (verification.verdict === 'refused') expect(fields.isValid).toBe(false)
      if (settlement.verdict === 'refused') {
        expect(fields).toMatchObject({ success: false, errorReason: expect.any(String) })
        expect([fields.transaction ?? '', fields.txId ?? '']).toEqual(['', ''])
        expect(fields.errorReason).not.toContain('settlement_failed')
      }
    }),
    { numRuns: 3_000 },
  )
})

test('whatever is sent, nothing throws', async () => {
  const { fake, facilitator } = await start()
  const sent = fc.oneof(
    fc.json(),
    fc.string(),
    body.map(answer => JSON.stringify(answer)),
  )
  const code = fc.integer({ min: 200, max: 599 })
  await fc.assert(
    fc.asyncProperty(code, sent, async (code, sent) => {
      fake.replies['/verify'] = text(sent, code)
      fake.replies['/settle'] = text(sent, code)
      const payment = newPayment()
      const verification = await facilitator.verify(payment, REQUIREMENTS)
      const settlement = await facilitator.settle(payment, REQUIREMENTS)
      if (code === 200) return
      expect(verification.verdict).not.toBe('valid')
      expect(settlement.verdict).not.toBe('settled')
      if (code > 499) expect([verification.verdict, settlement.verdict]).toEqual(['unreachable', 'unknown'])
    }),
    { numRuns: 300 },
  )
})
