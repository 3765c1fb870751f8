/** What the sponsor can lose: fees up to its ceilings, and only for payments to listed addresses that landed. */
import algosdk, { type Transaction } from 'algosdk'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeMember } from '../../src/adapters/algorand/decode-by-algosdk.js'
import { type SigningKey, signingKey } from '../../src/adapters/algorand/signing-keys.js'
import { textToSign } from '../../src/adapters/algorand/transaction-hashes.js'
import { settlementOf } from '../../src/adapters/facilitator/verdict-of-response.js'
import { ALGORAND_MAINNET, ALGORAND_TESTNET, MAINNET, TESTNET } from '../../src/domain/network.js'
import type { PaymentPayload } from '../../src/domain/x402.js'
import { feeBudget } from '../../src/facilitator/fee-budget.js'
import { createFacilitator } from '../../src/facilitator.js'
import type { Sandbox, SandboxAccount } from '../../src/sandbox.js'
import { newWallet } from '../../src/wallet/index.js'
import { listening, moved, paymentsOn, rig } from './rig.js'

const USDC = 10_458_941
const AMOUNT = 10_000

describe('requirements', () => {
  it.each([
    ['another payTo', (other: string) => ({ payTo: other })],
    ['another asset', () => ({ asset: '5' })],
  ])('%s are refused, and nothing is signed', async (_, other) => {
    const { facilitator, pay, sandbox, node } = await rig()
    const { payload, requirements } = await pay(other(sandbox.accounts('stranger').address))
    const reason = 'invalid_payment_requirements'
    expect(await facilitator.verify(payload, requirements)).toMatchObject({
      isValid: false,
      invalidReason: reason,
    })
    const settled = await facilitator.settle(payload, requirements)
    expect(settled).toMatchObject({ success: false, errorReason: reason, transaction: '' })
    expect(settlementOf({ status: 200, body: { ...settled } }).verdict).toBe('refused')
    expect(node.asked).not.toContain('simulate')
  })

  it('of nothing are refused: they would use up the fees of a day at no cost', async () => {
    const { facilitator, pay, sandbox } = await rig()
    const { payload, requirements } = await pay()
    const nothing = changed(sandbox, payload, (_, { assetTransfer }) => {
      Object.assign(assetTransfer!, { amount: 0n })
    })
    const settled = await facilitator.settle(nothing, { ...requirements, amount: '0' })
    expect(settled).toMatchObject({ success: false, errorReason: 'invalid_payment_requirements' })
  })

  it('of less than the least amount are refused', async () => {
    const { facilitator, pay } = await rig({ amountMin: '$0.01' })
    const [less, least] = [await pay({ amount: '9999' }), await pay({ amount: '10000' })]
    expect(await facilitator.verify(less.payload, less.requirements)).toMatchObject({
      invalidReason: 'invalid_payment_requirements',
    })
    expect(await facilitator.verify(least.payload, least.requirements)).toMatchObject({ isValid: true })
  })

  it('of another network are refused', async () => {
    const { facilitator, pay } = await rig()
    const { payload, requirements } = await pay()
    const elsewhere = { ...requirements, network: ALGORAND_MAINNET }
    const accepted = { ...payload, accepted: elsewhere }
    expect(await facilitator.verify(accepted, elsewhere)).toMatchObject({
      invalidReason: 'invalid_exact_avm_network_mismatch',
    })
  })

  it("to anyone are settled where payTo is 'anyone'", async () => {
    const { facilitator, pay, sandbox } = await rig({ payTo: 'anyone' })
    const { payload, requirements } = await pay({ payTo: sandbox.accounts('stranger').address })
    expect(await facilitator.settle(payload, requirements)).toMatchObject({ success: true })
  })

  it.each([[undefined], [null], [5], ['x'], [[]], [{}], [{ payTo: {} }], [{ __proto__: null }]])(
    '%j with a payload like it: refused, never thrown',
    async value => {
      const { facilitator } = await rig()
      expect((await facilitator.verify(value, value)).isValid).toBe(false)
      expect(await facilitator.settle(value, value)).toMatchObject({ success: false, transaction: '' })
    },
  )
})

describe('ceilings', () => {
  it('of one payment', async () => {
    const { facilitator, pay } = await rig({ feePerPaymentMax: 1_999 })
    const { payload, requirements } = await pay()
    expect(await facilitator.verify(payload, requirements)).toMatchObject({
      isValid: false,
      invalidReason: 'invalid_exact_avm_sponsor_fee',
    })
  })

  it('of a day: what is refused is a clear no, and the next day begins anew', async () => {
    let now = Date.UTC(2026, 0, 1, 23)
    const { facilitator, pay, sandbox, sponsor } = await rig({
      feePerDayMax: 5_000,
      clock: { now: () => now },
    })
    const { fees } = await moved(sandbox, sponsor.address, async () => {
      const payments = await Promise.all([pay(), pay(), pay()])
      const answers = await Promise.all(
        payments.map(({ payload, requirements }) => facilitator.settle(payload, requirements)),
      )
      expect(answers.filter(({ success }) => success).length).toBe(2)
      const no = answers.find(({ success }) => !success)!
      expect(no).toMatchObject({ errorReason: 'sponsor_budget_exhausted', transaction: '' })
      expect(settlementOf({ status: 200, body: { ...no } }).verdict).toBe('refused')
    })
    expect(fees).toBe(4_000n)
    const { payload, requirements } = await pay()
    expect(await facilitator.verify(payload, requirements)).toMatchObject({
      invalidReason: 'sponsor_budget_exhausted',
    })
    // A clock that is set back begins no new day.
    now -= 25 * 3_600_000
    expect((await facilitator.verify(payload, requirements)).isValid).toBe(false)
    now += 27 * 3_600_000
    expect(await facilitator.settle(payload, requirements)).toMatchObject({ success: true })
    expect(facilitator.condition().feesToday).toBe(2_000)
  })

  it('of a day: a clock that jumped far ahead, and was set right, keeps no later day from its budget', () => {
    const DAY_MS = 86_400_000
    let [nowMs, uptimeMs] = [100 * DAY_MS, 0]
    const budget = feeBudget(2_000n, { now: () => nowMs, monotonic: () => uptimeMs })
    const spends = (id: string) => budget.reserve(id, 2_000n)
    nowMs += 365 * DAY_MS
    expect([spends('ahead'), spends('more')]).toEqual([true, false])
    nowMs -= 365 * DAY_MS
    uptimeMs += DAY_MS - 1
    expect(spends('set right')).toBe(false)
    uptimeMs += 1
    nowMs += DAY_MS
    expect([spends('a day later'), spends('no more')]).toEqual([true, false])
  })

  it('of a day: a payment that is not submitted holds nothing of it', async () => {
    const { node, pass, facilitator, pay } = await rig({ feePerDayMax: 2_000 })
    const [stalled, other] = [await pay(), await pay()]
    node.set('simulate', 'hang')
    const settling = facilitator.settle(stalled.payload, stalled.requirements)
    await node.reached('simulate')
    node.set('simulate', undefined)
    expect(await facilitator.settle(other.payload, other.requirements)).toMatchObject({ success: true })
    pass(2_000)
    await expect(settling).rejects.toMatchObject({ code: 'node_unavailable' })
  })

  it.each<[string, (own: Transaction, payment: Transaction) => Transaction, number, string | undefined]>([
    ['its own transaction', own => own, 64, undefined],
    ['its own transaction', own => own, 65, 'invalid_exact_avm_invalid_fee_payer'],
    ['the payment', (_, payment) => payment, 1_024, undefined],
    ['the payment', (_, payment) => payment, 1_025, 'invalid_exact_avm_sponsor_fee'],
  ])('of a note, which the sponsor signs or pays for: in %s', async (_, of, bytes, invalidReason) => {
    const { facilitator, pay, sandbox } = await rig()
    const { payload, requirements } = await pay()
    const noted = changed(sandbox, payload, (own, payment) => {
      Object.assign(of(own, payment), { note: new Uint8Array(bytes) })
      // What the node asks for a note of 1025 bytes.
      if (bytes > 1_024) own.fee = 2_001n
    })
    expect((await facilitator.verify(noted, requirements)).invalidReason).toBe(invalidReason)
  })

  it.each([0n, 101_999n])(
    'of what the sponsor has (%i): no fault of the payment, and told to health',
    async microAlgos => {
      const { sandbox, make } = await rig()
      const { address, mnemonic } = newWallet()
      sandbox.fund(address, { microAlgos })
      const facilitator = make({ sponsor: { mnemonic } })
      const pay = paymentsOn(sandbox, address)
      const reason = 'sponsor_budget_exhausted'
      for (let many = 0; many <= 60; many++) {
        const { payload, requirements } = await pay()
        expect(await facilitator.verify(payload, requirements)).toMatchObject({ invalidReason: reason })
      }
      const { payload, requirements } = await pay()
      const no = { errorReason: reason, transaction: '' }
      expect(await facilitator.settle(payload, requirements)).toMatchObject(no)
      const health = `${await listening(facilitator)}/health`
      expect(await (await fetch(health)).json()).toMatchObject({ ok: false, node: 'ok' })
      sandbox.fund(address, { microAlgos: 102_000n })
      expect((await fetch(health)).status).toBe(200)
      expect(await facilitator.settle(payload, requirements)).toMatchObject({ success: true })
    },
  )

  it('a payer who pays its own fee uses none of it', async () => {
    const { facilitator, pay, sandbox, sponsor } = await rig({ feePerDayMax: 1 })
    const { payload, requirements } = await pay({ extra: {} })
    const { fees, paid } = await moved(sandbox, sponsor.address, async () => {
      expect(await facilitator.settle(payload, requirements)).toMatchObject({ success: true })
    })
    expect([fees, paid]).toEqual([0n, 10_000n])
  })
})

describe('options', () => {
  const good = { network: 'testnet', algodUrl: 'http://127.0.0.1:1', payTo: 'anyone' } as const
  const sponsor = { mnemonic: algosdk.secretKeyToMnemonic(algosdk.generateAccount().sk) }
  it.each<[string, object]>([
    ['invalid_options', { network: 'devnet' }],
    ['invalid_options', { algodUrl: 'ftp://node' }],
    ['invalid_options', { algodUrl: undefined }],
    ['invalid_options', { payTo: [] }],
    ['invalid_options', { payTo: 'nobody' }],
    ['invalid_address', { payTo: ['nobody'] }],
    ['invalid_options', { sponsor: undefined }],
    ['invalid_options', { sponsor: { ...sponsor, secretKey: new Uint8Array(64) } }],
    ['invalid_key', { sponsor: { mnemonic: 'twenty-four words too few' } }],
    ['invalid_key', { sponsor: { secretKey: new Uint8Array(64) } }],
    ['invalid_price', { amountMin: '$0' }],
    ['invalid_options', { feePerPaymentMax: 0 }],
    ['invalid_options', { feePerDayMax: 0.5 }],
  ])('%s for %j', (code, changes) => {
    const options = { ...good, sponsor, ...changes } as Parameters<typeof createFacilitator>[0]
    expect(() => createFacilitator(options)).toThrow(expect.objectContaining({ code }))
  })

  it('may name a network whose definition has a node', async () => {
    const network = {
      name: 'localnet',
      genesisId: 'dockernet-v1',
      genesisHash: 'kUt08LxeVAAGHnh4JoAoAMM9ql/hBwSoiFtlnKNeOxA=',
      usdc: 1002,
    }
    const options = { network, sponsor, payTo: 'anyone' } as const
    expect(() => createFacilitator(options)).toThrow(expect.objectContaining({ code: 'invalid_options' }))
    const withNode = { ...network, algodUrl: 'http://127.0.0.1:1' }
    await createFacilitator({ ...options, network: withNode }).close()
  })

  it('may have other fields beside the key', async () => {
    const named = { name: 'the sponsor', ...sponsor }
    const { addr } = algosdk.mnemonicToSecretKey(sponsor.mnemonic)
    const facilitator = createFacilitator({ ...good, sponsor: named })
    expect(facilitator.sponsor).toBe(addr.toString())
    await facilitator.close()
  })

  it('show the key nowhere', async () => {
    const facilitator = createFacilitator({ ...good, sponsor })
    const said = JSON.stringify([facilitator, facilitator.supported(), facilitator.condition()])
    expect(said).not.toContain(sponsor.mnemonic.split(' ')[0]!.repeat(2))
    for (const text of [said, JSON.stringify(Object.getOwnPropertyDescriptors(facilitator))]) {
      expect(text).not.toContain(sponsor.mnemonic)
    }
    await facilitator.close()
  })
})

/** A group by a stranger who holds the payer's key, not the sponsor's. */
const memberOf = fc.record({
  by: fc.constantFrom('sponsor', 'payer', 'stranger'),
  kind: fc.constantFrom('pay', 'usdc', 'optIn'),
  amount: fc.constantFrom(0, 1, AMOUNT),
  to: fc.constantFrom('self', 'seller', 'stranger'),
  fee: fc.constantFrom(0, 1_000, 2_000, 2_001, 10_000, 1_000_000),
  close: fc.constantFrom('none', 'stranger'),
  rekey: fc.constantFrom('none', 'stranger'),
  lease: fc.boolean(),
  elsewhere: fc.boolean(),
  signed: fc.constantFrom('own', 'none', 'payer'),
})
const usual = { close: 'none', rekey: 'none', lease: false, elsewhere: false, signed: 'own' } as const
const fair = fc.tuple(
  fc.record({
    ...Object.fromEntries(
      Object.entries({ by: 'sponsor', kind: 'pay', amount: 0, to: 'self', ...usual }).map(([key, value]) => [
        key,
        fc.constant(value),
      ]),
    ),
    fee: fc.constantFrom(1_000, 2_000, 2_001, 3_000),
  }),
  fc.constant({ by: 'payer', kind: 'usdc', amount: AMOUNT, to: 'seller', fee: 0, ...usual } as const),
)
type Member = typeof memberOf extends fc.Arbitrary<infer M> ? M : never
const groupOf = fc.record({
  members: fc.oneof(
    fc.array(memberOf, { minLength: 1, maxLength: 4 }),
    fair.chain(two => fc.array(memberOf, { maxLength: 2 }).map(more => [...two, ...more] as Member[])),
    fair.chain(([own, payment]) =>
      fc
        .record({})
        .chain(() => memberOf.map(strange => [{ ...own, ...mix(strange) } as Member, payment as Member])),
    ),
  ),
  index: fc.oneof({ weight: 8, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.nat(3) }),
  grouped: fc.oneof({ weight: 8, arbitrary: fc.constant('hash') }, fc.constantFrom('none', 'other')),
})

/** One strange field at a time finds more than many at once, which the first check refuses. */
function mix(strange: Member): Partial<Member> {
  const keys = Object.keys(strange) as (keyof Member)[]
  const key = keys[(strange.fee + strange.amount + strange.to.length + strange.kind.length) % keys.length]!
  return { [key]: strange[key] }
}

describe('whatever group is sent', () => {
  it('the sponsor loses at most its ceiling, and only where the seller was paid', async () => {
    const { make, sandbox, sponsor } = await rig()
    const { algodUrl } = sandbox
    const facilitator = make({ algodUrl, feePerDayMax: 100_000_000, feePerPaymentMax: 2_000 })
    let landed = 0
    let note = 0

    await fc.assert(
      fc.asyncProperty(groupOf, async ({ members, index, grouped }) => {
        // Others for each group, because groups may rekey and empty their accounts.
        const payer = sandbox.accounts(`payer ${note}`)
        const stranger = sandbox.accounts(`stranger ${note}`)
        const people = { sponsor, payer, stranger, seller: sandbox.seller }
        const key = signingKey(payer.mnemonic)
        const strangerKey = signingKey(stranger.mnemonic)
        const built = (member: Member): Transaction => transactionOf(member, people, sandbox.round(), note++)
        const txns = members.map(built)
        if (grouped === 'hash' && txns.length > 1) algosdk.assignGroupID(txns)
        if (grouped === 'other') for (const txn of txns) txn.group = new Uint8Array(32).fill(7)
        const paymentGroup = txns.map((txn, at) => {
          const { by, signed } = members[at]!
          const isUnsigned = signed === 'none' || (signed === 'own' && by === 'sponsor')
          const signer = signed === 'payer' || by === 'payer' ? key : strangerKey
          const bytes = isUnsigned ? algosdk.encodeUnsignedTransaction(txn) : signedBy(signer, txn)
          return Buffer.from(bytes).toString('base64')
        })
        const requirements = {
          scheme: 'exact',
          network: ALGORAND_TESTNET,
          amount: String(AMOUNT),
          asset: String(USDC),
          payTo: sandbox.seller.address,
          maxTimeoutSeconds: 60,
          extra: { feePayer: sponsor.address },
        }
        const payload = {
          x402Version: 2,
          accepted: requirements,
          payload: { paymentGroup, paymentIndex: index },
        }
        let success = false
        const { fees, paid } = await moved(sandbox, sponsor.address, async () => {
          await facilitator.verify(payload, requirements)
          success = (await facilitator.settle(payload, requirements)).success
        })
        const usdc = sandbox.balance(sponsor.address).usdc
        expect(usdc).toBe(100_000_000n)
        expect(fees).toBeLessThanOrEqual(2_000n)
        if (fees > 0n || success) expect(paid).toBeGreaterThanOrEqual(BigInt(AMOUNT))
        else expect(fees).toBe(0n)
        if (fees > 0n) landed++
      }),
      { numRuns: 250 },
    )
    // Otherwise the property would hold of a facilitator that settles nothing.
    expect(landed).toBeGreaterThan(0)
  })
})

function transactionOf(
  { by, kind, amount, to, fee, close, rekey, lease, elsewhere }: Member,
  people: Readonly<Record<'sponsor' | 'payer' | 'stranger' | 'seller', SandboxAccount>>,
  round: bigint,
  note: number,
): Transaction {
  const sender = people[by].address
  const receiver = to === 'self' || kind === 'optIn' ? sender : people[to].address
  const common = {
    sender,
    receiver,
    note: Buffer.from(`n${note}`),
    ...(rekey === 'stranger' && { rekeyTo: people.stranger.address }),
    ...(lease && { lease: new Uint8Array(32).fill(note % 255) }),
    ...(close === 'stranger' && { closeRemainderTo: people.stranger.address }),
    suggestedParams: {
      fee,
      flatFee: true,
      minFee: 1_000,
      firstValid: round,
      lastValid: round + 10n,
      genesisID: elsewhere ? 'mainnet-v1.0' : 'testnet-v1.0',
      genesisHash: Buffer.from((elsewhere ? MAINNET : TESTNET).genesisHash, 'base64'),
    },
  }
  if (kind === 'pay') return algosdk.makePaymentTxnWithSuggestedParamsFromObject({ ...common, amount })
  return algosdk.makeAssetTransferTxnWithSuggestedParamsFromObject({
    ...common,
    amount: kind === 'optIn' ? 0 : amount,
    assetIndex: USDC,
  })
}

/** The payment after a change by its payer. */
function changed(
  { wallet }: Sandbox,
  payload: PaymentPayload,
  change: (own: Transaction, payment: Transaction) => void,
): PaymentPayload {
  const [own, payment] = (payload.payload as { paymentGroup: string[] }).paymentGroup.map(
    text => decodeMember(Buffer.from(text, 'base64'))!.txn,
  ) as [Transaction, Transaction]
  change(own, payment)
  own.group = undefined
  payment.group = undefined
  algosdk.assignGroupID([own, payment])
  const signed = signedBy(signingKey(wallet.mnemonic), payment)
  const members = [algosdk.encodeUnsignedTransaction(own), signed]
  const paymentGroup = members.map(bytes => Buffer.from(bytes).toString('base64'))
  return { ...payload, payload: { paymentGroup, paymentIndex: 1 } }
}

/** As `signTxn`, whose JavaScript takes some milliseconds. */
function signedBy({ address, sign }: SigningKey, txn: Transaction): Uint8Array {
  const sgnr = address === txn.sender.toString() ? undefined : algosdk.Address.fromString(address)
  return algosdk.encodeMsgpack(
    new algosdk.SignedTransaction({ txn, sig: sign(textToSign(txn.toByte())), sgnr }),
  )
}

it('a sponsor transaction is signed for its own network alone', async () => {
  const { facilitator, pay, node, sandbox } = await rig()
  const { payload, requirements } = await pay()
  const foreign = changed(sandbox, payload, own => {
    Object.assign(own, { genesisHash: Buffer.from(MAINNET.genesisHash, 'base64') })
  })
  expect(await facilitator.verify(foreign, requirements)).toMatchObject({
    invalidReason: 'invalid_exact_avm_network_mismatch',
  })
  expect(node.asked).not.toContain('simulate')
})

it('nothing is signed for a group whose id is not its hash: it would be good in a group that nobody has shown', async () => {
  const { facilitator, pay, node, sandbox } = await rig()
  const { payload, requirements } = await pay()
  const texts = (payload.payload as { paymentGroup: string[] }).paymentGroup
  const key = signingKey(sandbox.wallet.mnemonic)
  const own = algosdk.decodeUnsignedTransaction(Buffer.from(texts[0]!, 'base64'))
  const payment = algosdk.decodeSignedTransaction(Buffer.from(texts[1]!, 'base64')).txn
  for (const group of [undefined, new Uint8Array(32).fill(7)]) {
    own.group = group
    payment.group = group
    const members = [algosdk.encodeUnsignedTransaction(own), signedBy(key, payment)]
    const paymentGroup = members.map(bytes => Buffer.from(bytes).toString('base64'))
    const changed = { ...payload, payload: { paymentGroup, paymentIndex: 1 } }
    expect(await facilitator.verify(changed, requirements)).toMatchObject({
      invalidReason: 'invalid_exact_avm_invalid_group_id',
    })
  }
  expect(node.asked).not.toContain('simulate')
})

it('a sponsor is never the payer', async () => {
  const { facilitator, sandbox, sponsor } = await rig()
  const pay = paymentsOn(sandbox, sponsor.address, sponsor.mnemonic)
  const { payload, requirements } = await pay({ extra: {} })
  expect(await facilitator.verify(payload, requirements)).toMatchObject({
    invalidReason: 'invalid_exact_avm_facilitator_transferring',
  })
})
