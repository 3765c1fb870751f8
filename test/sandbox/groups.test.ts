/** The sandbox's facilitator on groups of wallets: its verdict beside the official one's, over a real node, for each vector. */
import { describe, expect, it } from 'vitest'
import { checkTransactions } from '../../src/sandbox/facilitator-routes.js'
import { vectorKey, vectorLedger } from '../support/vector-ledger.js'
import vectors from '../vectors/groups.json' with { type: 'json' }

/** The official one says yes to these. What the sandbox answers instead: its stricter rules, and what its ledger cannot do. */
const DIFFERENT: Readonly<Record<string, string>> = {
  'the payment rekeys': 'payment_rekey',
  'the payment closes the holding': 'payment_close_to',
  'the payment closes the holding to the seller': 'payment_close_to',
  'a sponsor who pays more than the group needs': 'sponsor_fee',
  // Programs do not run here, so no application sends the USDC that the payer needs, and none makes a transaction that costs a fee.
  'opt-in, swap with an application, payment': 'underflow',
  'opt-in, swap with an application, payment, sponsored': 'sponsor_fee',
  'ALGO and another asset for the seller too': `asset ${vectors.otherAsset} missing`,
  'a clawback from the seller': 'clawback not allowed',
  'a clawback from another account': 'clawback not allowed',
  'the payment is a clawback': 'clawback not allowed',
  'a logic signature beside': 'ed25519 signatures only',
  'keys, freezing and configuration beside':
    'payments, asset transfers and calls of applications only, not keyreg',
}

describe('the official facilitator’s verdicts on groups of wallets', () => {
  for (const { name, paymentPayload, verify } of vectors.cases) {
    const different = DIFFERENT[name]
    it(different === undefined ? name : `${name}: here ${different}`, () => {
      const ledger = vectorLedger('testnet', BigInt(vectors.round))
      ledger.credit(vectors.requirements.payTo, { usdc: 1_000_000n })
      ledger.credit(vectors.application.address, { microAlgos: 1_000_000n })
      const payload = { ...paymentPayload, accepted: vectors.requirements }
      const verdict = checkTransactions(payload, vectors.requirements, ledger, vectorKey('feepayer'))
      if (different !== undefined) {
        expect(verify.isValid).toBe(true)
        expect(verdict).toMatchObject({ ok: false })
        expect(verdict.ok ? '' : `${verdict.reason}: ${verdict.message}`).toContain(different)
        return
      }
      const { isValid, payer, invalidReason, invalidMessage = '' } = verify
      if (verdict.ok) {
        expect({ isValid: true, payer: verdict.payer }).toEqual({ isValid, payer })
        expect(ledger.submit(verdict.group)).toBeUndefined()
        return
      }
      expect(`invalid_exact_avm_${verdict.reason}`).toBe(invalidReason)
      expect(invalidMessage).toContain(verdict.message.slice(0, 150))
    })
  }

  it('differ in nothing that is not listed', () => {
    const names = vectors.cases.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(Object.keys(DIFFERENT)))
  })
})
