import {
  Address,
  decodeMsgpack,
  encodeMsgpack,
  LogicSigAccount,
  modelsv2,
  SignedTransaction,
  Transaction,
  TransactionType,
} from 'algosdk'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeBase32 } from '../../src/adapters/algorand/address.js'
import { groupIdOf, hashOf, textToSign, txIdOf } from '../../src/adapters/algorand/transaction-hashes.js'
import { TESTNET } from '../../src/domain/network.js'
import { algoText } from '../../src/sandbox/check-signatures.js'
import { checkTransactions } from '../../src/sandbox/facilitator-routes.js'
import { createRounds } from '../../src/sandbox/rounds.js'
import { startSandbox } from '../../src/sandbox.js'
import { answerOf } from '../support/answers.js'
import { type VectorAccount, vectorKey, vectorLedger } from '../support/vector-ledger.js'
import keys from '../vectors/keys.json' with { type: 'json' }
import verdicts from '../vectors/verdicts.json' with { type: 'json' }

const USDC = 10_458_941n
const ROUND = BigInt(keys.ledgerRound)
const { payer, payer2, poor, notopted, payto } = keys.accounts
const keyOf = new Map(
  (Object.keys(keys.accounts) as VectorAccount[]).map(name => [keys.accounts[name].address, vectorKey(name)]),
)

interface Move {
  readonly from?: string
  readonly to?: string
  readonly amount?: bigint
  readonly fee?: bigint
  readonly asset?: bigint | null
  readonly firstValid?: bigint
  readonly lastValid?: bigint
  readonly closeTo?: string
  readonly note?: string
  readonly more?: object
}

function transaction(move: Move): Transaction {
  const { from = payer.address, to = payto.address, amount = 10_000n, asset = USDC, closeTo } = move
  return new Transaction({
    type: asset === null ? TransactionType.pay : TransactionType.axfer,
    sender: from,
    note: Buffer.from(move.note ?? ''),
    suggestedParams: {
      flatFee: true,
      minFee: 1_000n,
      fee: move.fee ?? 1_000n,
      firstValid: move.firstValid ?? ROUND,
      lastValid: move.lastValid ?? ROUND + 10n,
      genesisID: 'testnet-v1.0',
      genesisHash: Buffer.from(TESTNET.genesisHash, 'base64'),
    },
    ...(asset === null
      ? { paymentParams: { receiver: to, amount, closeRemainderTo: closeTo } }
      : { assetTransferParams: { receiver: to, amount, assetIndex: asset, closeRemainderTo: closeTo } }),
    ...move.more,
  })
}

function signed(txn: Transaction): SignedTransaction {
  const key = keyOf.get(txn.sender.toString())!
  return new SignedTransaction({ txn, sig: key.sign(textToSign(txn.toByte())) })
}

function group(...moves: Move[]): SignedTransaction[] {
  const txns = moves.map(transaction)
  if (txns.length > 1) {
    const id = groupIdOf(txns.map(txn => hashOf(textToSign(txn.toByte()))))
    for (const txn of txns) txn.group = id
  }
  return txns.map(signed)
}

describe('a refusal has go-algorand’s words', () => {
  it.each<[string, Move, string]>([
    [
      'window',
      { lastValid: ROUND + 1_001n },
      `transaction window size excessive (${ROUND}--${ROUND + 1_001n})`,
    ],
    [
      'reversed',
      { firstValid: ROUND + 9n, lastValid: ROUND },
      `transaction invalid range (${ROUND + 9n}--${ROUND})`,
    ],
    ['dead', { lastValid: ROUND }, `txn dead: round ${ROUND + 1n} outside of ${ROUND}--${ROUND}`],
    [
      'early',
      { firstValid: ROUND + 2n },
      `txn dead: round ${ROUND + 1n} outside of ${ROUND + 2n}--${ROUND + 10n}`,
    ],
    ['asset short', { from: poor.address }, ': underflow on subtracting 10000 from sender amount 5'],
    ['not opted in', { from: notopted.address }, `: asset ${USDC} missing from ${notopted.address}`],
    [
      'receiver',
      { to: notopted.address },
      `: receiver error: must optin, asset ${USDC} missing from ${notopted.address}`,
    ],
    ['overspend', { asset: null, amount: 10n ** 12n }, ', tried to spend 1000000A)'],
    [
      'unknown asset',
      { asset: 5n, to: payer.address, amount: 0n },
      ': asset 5 does not exist or has been deleted',
    ],
    ['fee', { fee: 999n }, 'txgroup with 999uA fees is less than 1mA (usage=1.000000 * base=1mA)'],
    [
      'minimum',
      { asset: null, amount: 4_899_000n },
      `: account ${payer.address} balance 100000 below min 200000 (1 assets)`,
    ],
    [
      'close with assets',
      { asset: null, amount: 0n, closeTo: payto.address },
      ': cannot close: 1 outstanding assets',
    ],
  ])('%s', (_, move, words) => {
    const refusal = vectorLedger().simulate(group(move))
    expect(refusal?.message.endsWith(words)).toBe(true)
  })

  it('for a group that is too large, empty, unbound or falsely bound', () => {
    const ledger = vectorLedger()
    expect(ledger.simulate([])).toEqual({ stage: 'request', message: 'empty txgroup' })
    const many = Array.from({ length: 17 }, (_, at) => signed(transaction({ note: `${at}` })))
    expect(ledger.simulate(many)?.message).toBe('transaction group size 17 exceeds protocol max 16')
    expect(ledger.simulate(many.slice(0, 2))?.message).toBe(
      'transactionGroup: [0] had zero Group but was submitted in a group of 2',
    )
    const bound = group({ note: 'a' }, { note: 'b' })
    expect(ledger.simulate([bound[1]!, bound[0]!])?.message).toMatch(
      /^transactionGroup: incomplete group: \w+ != \w+ /,
    )
    expect(ledger.simulate([bound[0]!])?.stage).toBe('request')
    const other = group({ note: 'c' }, { note: 'd' })
    expect(ledger.simulate([bound[0]!, other[1]!])?.message).toMatch(/inconsistent group values/)
  })

  it('for signatures that are none, false, foreign or of another kind', () => {
    const ledger = vectorLedger()
    const txn = transaction({})
    expect(ledger.simulate([new SignedTransaction({ txn })])).toMatchObject({
      stage: 'form',
      message: /has no sig/,
    })
    const sig = vectorKey('payer2').sign(textToSign(txn.toByte()))
    expect(ledger.simulate([new SignedTransaction({ txn, sig })])?.stage).toBe('request')
    const sgnr = Address.fromString(payer2.address)
    expect(ledger.simulate([new SignedTransaction({ txn, sig, sgnr })])?.message).toBe(
      `transaction ${txIdOf(txn)}: should have been authorized by ${payer.address} but was actually authorized by ${payer2.address}`,
    )
    const { lsig } = new LogicSigAccount(Uint8Array.of(1, 32, 1, 1, 34))
    expect(ledger.simulate([new SignedTransaction({ txn, lsig })])).toMatchObject({
      stage: 'unemulated',
      message: expect.stringMatching(/^not emulated: .* ed25519 signatures only/),
    })
  })

  it.each([
    [0n, '0.0A'],
    [5n, '5uA'],
    [1_000n, '1mA'],
    [1_500n, '1.500mA'],
    [2_000_000n, '2A'],
    [1_500_000n, '1.500000A'],
  ])('%d microalgos are %s', (microAlgos, text) => {
    expect(algoText(microAlgos)).toBe(text)
  })
})

describe('a group', () => {
  it('happens whole or not at all', () => {
    const ledger = vectorLedger()
    const before = balancesOf(ledger)
    const refusal = ledger.submit(group({ amount: 500n }, { from: poor.address, amount: 500n }))
    expect(refusal).toMatchObject({ stage: 'ledger', at: 1 })
    expect(balancesOf(ledger)).toEqual(before)
    expect(ledger.transactions()).toEqual([])
  })

  it('lands in the round after the last one, and that block is told when it is produced', () => {
    const rounds = createRounds({ roundMs: 1, nowMs: () => 0, first: 5n })
    expect(rounds.current()).toBe(5n)
    const ledger = vectorLedger()
    expect(ledger.submit(group({}))).toBeUndefined()
    const [landed] = ledger.transactions()
    expect(landed!.round).toBe(ROUND + 1n)
    expect(ledger.block(ROUND + 1n)).toBeUndefined()
    ledger.rounds.advance(1)
    expect(ledger.block(ROUND + 1n)).toEqual([landed!.txId])
    expect(ledger.block(ROUND)).toEqual([])
    expect(ledger.block(ROUND - 1n)).toBeUndefined()
  })

  it('can opt in, close a holding, and close an account', () => {
    const ledger = vectorLedger()
    const { address } = notopted
    const optIn = { from: address, to: address, amount: 0n }
    expect(ledger.submit(group(optIn))).toBeUndefined()
    expect(ledger.submit(group({ to: address, amount: 70n }))).toBeUndefined()
    const close = { from: address, to: payer.address, amount: 20n, closeTo: payer2.address }
    expect(ledger.submit(group(close))).toBeUndefined()
    expect(ledger.account(address).holdings.size).toBe(0)
    expect(ledger.account(payer2.address).holdings.get(USDC)?.amount).toBe(100_000_050n)
    expect(
      ledger.submit(group({ from: address, asset: null, amount: 0n, closeTo: payer.address })),
    ).toBeUndefined()
    expect(ledger.account(address).microAlgos).toBe(0n)
  })
})

describe('nothing is made or lost', () => {
  it('whatever groups are sent, and a simulation tells what a submission will', () => {
    const addresses = [payer, payer2, poor, notopted, payto].map(({ address }) => address)
    const rich = fc.constantFrom(payer.address, payer2.address)
    const anyone = fc.constantFrom(...addresses)
    const move = fc.record({
      from: fc.oneof({ weight: 9, arbitrary: rich }, { weight: 1, arbitrary: anyone }),
      to: fc.oneof({ weight: 9, arbitrary: rich }, { weight: 3, arbitrary: anyone }),
      amount: fc.oneof(
        { weight: 5, arbitrary: fc.bigInt(0n, 50n) },
        { weight: 1, arbitrary: fc.bigInt(0n, 2n ** 64n - 1n) },
      ),
      fee: fc.constantFrom(1_000n, 1_000n, 1_000n, 2_000n, 2_000n, 0n, 6_000_000n),
      asset: fc.constantFrom(USDC, USDC, null),
      closeTo: fc.oneof(
        { weight: 12, arbitrary: fc.constant(undefined) },
        { weight: 1, arbitrary: fc.constantFrom(...addresses) },
      ),
      note: fc.string({ maxLength: 4 }),
    })
    let landings = 0
    fc.assert(
      fc.property(fc.array(fc.array(move, { minLength: 1, maxLength: 3 }), { maxLength: 6 }), groups => {
        const ledger = vectorLedger()
        const totals = ledger.totals()
        for (const moves of groups) {
          const sent = group(...moves)
          const before = balancesOf(ledger)
          const simulated = ledger.simulate(sent)
          expect(balancesOf(ledger)).toEqual(before)
          expect(ledger.submit(sent)).toEqual(simulated)
          if (simulated) expect(balancesOf(ledger)).toEqual(before)
          else landings++
          expect(ledger.totals()).toEqual(totals)
        }
      }),
      { numRuns: 60 },
    )
    // Of some 180 groups; were it few, the property would say nothing.
    expect(landings).toBeGreaterThan(20)
  })
})

describe('the facilitator never throws', () => {
  const sponsor = vectorKey('feepayer')
  const [{ paymentPayload, paymentRequirements }] = verdicts.cases as [(typeof verdicts.cases)[0]]

  it('whatever JSON it is sent', () => {
    const ledger = vectorLedger()
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (payload, requirements) => {
        expect(checkTransactions(payload, requirements, ledger, sponsor).ok).toBe(false)
      }),
    )
  })

  it('and says no to a payment or a quote with any one part replaced', () => {
    const ledger = vectorLedger()
    const paths = [...leaves(paymentPayload), ...leaves(paymentRequirements)]
    const odd = fc.oneof(fc.jsonValue(), fc.constantFrom('', '0', '-1', '1e3', '__proto__'))
    fc.assert(
      fc.property(fc.nat(paths.length - 1), odd, (at, value) => {
        const envelope = structuredClone({ paymentPayload, paymentRequirements })
        replaceLeaf(envelope, at, value)
        const verdict = checkTransactions(
          envelope.paymentPayload,
          envelope.paymentRequirements,
          ledger,
          sponsor,
        )
        if (!verdict.ok) expect(verdict.reason).toMatch(/^[a-z_]+$/)
      }),
      { numRuns: 300 },
    )
  })
})

describe('the node’s answers to a simulation', () => {
  it('are 200 with a failure message for a no of the ledger, 400 for a bad request', async () => {
    const sandbox = await startSandbox()
    const simulate = async (...groups: SignedTransaction[][]) => {
      const txnGroups = groups.map(txns => new modelsv2.SimulateRequestTransactionGroup({ txns }))
      const body = encodeMsgpack(new modelsv2.SimulateRequest({ txnGroups }))
      return fetch(`${sandbox.url}/v2/transactions/simulate?format=msgpack`, {
        method: 'POST',
        body: Buffer.from(body),
      })
    }
    const dead = await simulate(group({}))
    expect([dead.status, dead.headers.get('content-type')]).toEqual([200, 'application/msgpack'])
    const answer = decodeMsgpack(new Uint8Array(await dead.arrayBuffer()), modelsv2.SimulateResponse)
    expect(answer.txnGroups[0]).toMatchObject({
      failureMessage: expect.stringMatching(/^txn dead: round/),
      failedAt: [0],
    })
    for (const [response, message] of [
      [await simulate(group({}), group({})), 'expected 1 transaction group, got 2'],
      [await simulate([]), 'empty txgroup'],
      [
        await simulate([new SignedTransaction({ txn: transaction({}), sig: Buffer.alloc(64, 1) })]),
        `At least one signature didn't pass verification`,
      ],
    ] as const) {
      expect(response.status).toBe(400)
      expect((await answerOf(response)).message).toBe(message)
    }
    await sandbox.close()
  })
})

function balancesOf(ledger: ReturnType<typeof vectorLedger>) {
  return Object.values(keys.accounts).map(({ address }) => {
    const { microAlgos, holdings } = ledger.account(address)
    return [microAlgos, holdings.get(USDC)]
  })
}

function leaves(value: unknown): unknown[] {
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(leaves) : [value]
}

function replaceLeaf(value: object, at: number, replacement: unknown): number {
  let left = at
  for (const [key, child] of Object.entries(value)) {
    if (typeof child === 'object' && child !== null) left = replaceLeaf(child, left, replacement)
    else if (left-- === 0) Object.assign(value, { [key]: replacement })
  }
  return left
}

it('base32 of a transaction id is 52 characters', () => {
  expect(encodeBase32(Buffer.alloc(32))).toHaveLength(52)
})
