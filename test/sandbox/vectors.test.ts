import { Address, decodeSignedTransaction, type Transaction } from 'algosdk'
import { describe, expect, it } from 'vitest'
import { signedBytes, textToSign } from '../../src/adapters/algorand/transaction-hashes.js'
import { DIFFERENCES } from '../../src/facilitator/official-group-checks.js'
import { isCanonical } from '../../src/facilitator/remembered-checks.js'
import { checkTransactions } from '../../src/sandbox/facilitator-routes.js'
import type { Ledger } from '../../src/sandbox/ledger.js'
import { vectorKey, vectorLedger } from '../support/vector-ledger.js'
import keys from '../vectors/keys.json' with { type: 'json' }
import payments from '../vectors/payments.json' with { type: 'json' }
import verdicts from '../vectors/verdicts.json' with { type: 'json' }

const sponsor = vectorKey('feepayer')

/** The official facilitator says yes to these, ours no, for the reason that `DIFFERENCES` gives. */
const DELIBERATE: Readonly<Record<string, keyof typeof DIFFERENCES>> = {
  'feepayer-fee-10000': 'sponsor_fee',
  'two-feepayer-txns': 'extra_sponsor',
  'payment-close-to': 'payment_close_to',
}

/** Accounts that a vector needs and keys.json does not list: what its transactions say that they hold. */
const FURTHER_BALANCES: Readonly<Record<string, bigint>> = {
  'payer-cannot-pay-own-fee-min-balance': 200_500n,
  'payer-cannot-pay-own-fee-overspend': 500n,
}

interface Vector {
  readonly name: string
  readonly paymentPayload: unknown
  readonly paymentRequirements: unknown
  readonly verify: { isValid: boolean; invalidReason?: string; invalidMessage?: string; payer?: string }
  readonly transactions: readonly { sender?: string }[]
}

describe('the official facilitator’s verdicts', () => {
  for (const vector of verdicts.cases as readonly Vector[]) {
    it(vector.name, () => {
      const ledger = vectorLedger()
      prepare(ledger, vector)
      const verdict = checkTransactions(vector.paymentPayload, vector.paymentRequirements, ledger, sponsor)
      const difference = DELIBERATE[vector.name]
      if (difference) {
        // A difference that stopped being one would be a line in a table that nobody needs.
        expect(vector.verify.isValid).toBe(true)
        expect(verdict).toEqual({ ok: false, reason: difference, message: DIFFERENCES[difference] })
        return
      }
      const { isValid, payer, invalidReason, invalidMessage = '' } = vector.verify
      if (verdict.ok) {
        expect({ isValid: true, payer: verdict.payer }).toEqual({ isValid, payer })
        return
      }
      expect(`invalid_exact_avm_${verdict.reason}`).toBe(invalidReason)
      // The official one reports its own exceptions; its simulation also says which request failed.
      if (!invalidMessage.startsWith('Unexpected error')) expect(invalidMessage).toContain(verdict.message)
    })
  }

  it('are given on all of their cases, and every difference is one of them', () => {
    const names = (verdicts.cases as readonly Vector[]).map(({ name }) => name)
    expect(names.length).toBe(46)
    expect(names).toEqual(expect.arrayContaining(Object.keys(DELIBERATE)))
  })
})

describe('stricter than the official facilitator', () => {
  const vector = payments.payments[1]!
  const { paymentPayload, paymentRequirements } = vector.facilitatorBody
  const bytes = Buffer.from(paymentPayload.payload.paymentGroup[0]!, 'base64')
  const checkedWith = (text: Buffer) => {
    const payload = { paymentGroup: [text.toString('base64')], paymentIndex: 0 }
    return checkTransactions({ ...paymentPayload, payload }, paymentRequirements, vectorLedger(), sponsor)
  }
  const changed = (changes: Partial<Transaction>) => {
    const txn = Object.assign(decodeSignedTransaction(bytes).txn, changes)
    return Buffer.from(signedBytes(txn.toByte(), vectorKey('payer').sign(textToSign(txn.toByte()))))
  }

  it.each<[keyof typeof DIFFERENCES, Buffer]>([
    ['payment_rekey', changed({ rekeyTo: Address.fromString(sponsor.address) })],
    ['not_canonical', Buffer.concat([Buffer.of(0x82), bytes.subarray(71), bytes.subarray(1, 71)])],
  ])('%s', (reason, text) => {
    expect(checkedWith(bytes).ok).toBe(true)
    expect(checkedWith(text)).toEqual({ ok: false, reason, message: DIFFERENCES[reason] })
  })

  it('in no way that is not tested here or by a vector', () => {
    const tested = [...Object.values(DELIBERATE), 'payment_rekey', 'not_canonical']
    expect(tested.sort()).toEqual(Object.keys(DIFFERENCES).sort())
  })
})

describe('the official client’s payments', () => {
  for (const vector of payments.payments) {
    it(`${vector.name}: verified, landed, and not a second time`, () => {
      const ledger = vectorLedger(vector.network as 'mainnet' | 'testnet')
      const { paymentPayload, paymentRequirements } = vector.facilitatorBody
      const verdict = checkTransactions(paymentPayload, paymentRequirements, ledger, sponsor)
      expect(verdict).toMatchObject({ ok: true, payer: vector.verify.payer, txId: vector.settle.transaction })
      if (!verdict.ok) return
      expect(ledger.submit(verdict.group)).toBeUndefined()
      expect(ledger.landed(verdict.txId)?.round).toBe(BigInt(vector.settledRound))
      expect(ledger.submit(verdict.group)).toMatchObject({
        stage: 'ledger',
        message: `transaction already in ledger: ${vector.transactions[0]!.txid}`,
      })
    })
  }

  it('are canonical', () => {
    const text = payments.payments[1]!.paymentPayload.payload.paymentGroup[0]!
    const bytes = Buffer.from(text, 'base64')
    expect(isCanonical(decodeSignedTransaction(bytes), bytes)).toBe(true)
  })
})

function prepare(ledger: Ledger, vector: Vector): void {
  const known = new Set(Object.values(keys.accounts).map(({ address }) => address))
  const microAlgos = FURTHER_BALANCES[vector.name]
  for (const { sender } of vector.transactions ?? []) {
    if (microAlgos && sender && !known.has(sender)) ledger.credit(sender, { microAlgos, usdc: 1_000_000n })
  }
  if (vector.name !== 'replayed') return
  const first = checkTransactions(vector.paymentPayload, vector.paymentRequirements, ledger, sponsor)
  if (first.ok) ledger.submit(first.group)
}
