/** Nodes that stall, lie and die at each step; and our own server's reading of every answer. */
import {
  assignGroupID,
  decodeSignedTransaction,
  decodeUnsignedTransaction,
  encodeMsgpack,
  encodeUnsignedTransaction,
  makePaymentTxnWithSuggestedParamsFromObject,
  SignedTransaction,
} from 'algosdk'
import { describe, expect, it } from 'vitest'
import { decodeMember } from '../../src/adapters/algorand/decode-by-algosdk.js'
import { signingKey } from '../../src/adapters/algorand/signing-keys.js'
import { textToSign } from '../../src/adapters/algorand/transaction-hashes.js'
import { settlementOf, verificationOf } from '../../src/adapters/facilitator/verdict-of-response.js'
import { TESTNET } from '../../src/domain/network.js'
import { DIFFERENCES } from '../../src/facilitator/official-group-checks.js'
import type { SettleAnswer, VerifyAnswer } from '../../src/ports/facilitator.js'
import { splitValues } from '../../src/sandbox/algod/transaction-routes.js'
import type { Fault } from '../support/faulty-node.js'
import { moved, rig } from './rig.js'

const readSettle = (answer: SettleAnswer) => settlementOf({ status: 200, body: { ...answer } }).verdict
const readVerify = (answer: VerifyAnswer) => verificationOf({ status: 200, body: { ...answer } }).verdict
const OTHER_HASH = 'wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8='

const REFUSED: Fault = { status: 400, text: '{"message":"TransactionPool.Remember: overspend"}' }
const UNKNOWN: Fault = { status: 404, text: '{"message":"could not find the transaction"}' }

function simulated(failure: string): Fault {
  const group = { 'failure-message': failure, 'txn-results': [] }
  return { status: 200, text: JSON.stringify({ 'last-round': 9, 'txn-groups': [group] }) }
}

const BROKEN: readonly [string, Fault][] = [
  ['dies', 'die'],
  ['answers 500', { status: 500, text: '{"message":"no"}' }],
  ['answers HTML', { status: 200, text: '<html>' }],
  ['answers a proxy’s 400', { status: 400, text: '<html>' }],
  ['answers {}', { status: 200, text: '{}' }],
  ['answers 401', { status: 401, text: '{"message":"Invalid API Token"}' }],
]

describe('before anything is submitted', () => {
  it.each(
    (['params', 'pending', 'simulate'] as const).flatMap(step =>
      BROKEN.map(([how, fault]) => ({ step, how, fault })),
    ),
  )(
    'a node that $how at $step: rejects with node_unavailable, and nothing moves',
    async ({ step, fault }) => {
      const { node, facilitator, pay, sandbox, sponsor } = await rig()
      const { payload, requirements } = await pay()
      node.set(step, fault)
      const { fees, paid } = await moved(sandbox, sponsor.address, async () => {
        await expect(facilitator.verify(payload, requirements)).rejects.toMatchObject({
          code: 'node_unavailable',
        })
        await expect(facilitator.settle(payload, requirements)).rejects.toMatchObject({
          code: 'node_unavailable',
        })
      })
      expect([fees, paid]).toEqual([0n, 0n])
      expect(facilitator.condition().feesToday).toBe(0)
      // The payment is as good as before.
      node.set(step, undefined)
      expect(await facilitator.settle(payload, requirements)).toMatchObject({ success: true })
    },
  )

  it('a node that stalls: rejects in its own time, and submits nothing', async () => {
    const { node, pass, facilitator, pay } = await rig()
    const { payload, requirements } = await pay()
    node.set('simulate', 'hang')
    const settling = facilitator.settle(payload, requirements)
    await node.reached('simulate')
    pass(2_000)
    await expect(settling).rejects.toMatchObject({ code: 'node_unavailable' })
    expect(node.asked).not.toContain('submit')
  })

  it.each([
    ['hash', OTHER_HASH],
    ['id', TESTNET.genesisHash],
  ])('a node with another genesis %s gets no signature, and is not well', async (_, genesisHash) => {
    const { node, facilitator, pay } = await rig()
    const { payload, requirements } = await pay()
    const params = {
      'genesis-hash': genesisHash,
      'genesis-id': 'other-v1',
      'last-round': 5,
      'min-fee': 1000,
      fee: 0,
    }
    node.set('params', { status: 200, text: JSON.stringify(params) })
    await expect(facilitator.verify(payload, requirements)).rejects.toMatchObject({
      code: 'node_unavailable',
    })
    await expect(facilitator.settle(payload, requirements)).rejects.toMatchObject({
      code: 'node_unavailable',
    })
    expect(node.asked).not.toContain('simulate')
    expect(facilitator.condition().node).toBe('wrongNetwork')
  })

  it('a node gets no signature of the sponsor: it could submit the group, and the seller would think that another server had', async () => {
    const { node, facilitator, pay, sponsor } = await rig()
    const { payload, requirements } = await pay()
    expect(await facilitator.verify(payload, requirements)).toMatchObject({ isValid: true })
    expect(await facilitator.settle(payload, requirements)).toMatchObject({ success: true })
    const [submitted] = node.sent('submit')
    const members = splitValues(submitted!, 16).map(bytes => decodeSignedTransaction(bytes))
    const { sig } = members.find(({ txn }) => txn.sender.toString() === sponsor.address)!
    expect(sig).toHaveLength(64)
    expect(node.sent('simulate').map(body => body.includes(Buffer.from(sig!)))).toEqual([false, false])
  })

  it('what is signed otherwise, or not, is checked with the sponsor’s signature: a node takes no other for it', async () => {
    const { facilitator, pay, sandbox, sponsor } = await rig()
    const { payload, requirements } = await pay()
    const [own, payment] = (payload.payload as { paymentGroup: string[] }).paymentGroup.map(
      text => decodeMember(Buffer.from(text, 'base64'))!.txn,
    )
    const key = signingKey(sandbox.wallet.mnemonic)
    const third = (signature: Partial<SignedTransaction>) => {
      const { firstValid, lastValid, genesisHash, genesisID } = payment!
      const suggestedParams = {
        fee: 1_000,
        flatFee: true,
        minFee: 1_000,
        firstValid,
        lastValid,
        genesisHash,
        genesisID,
      }
      const { address } = sandbox.seller
      const extra = makePaymentTxnWithSuggestedParamsFromObject({
        sender: address,
        receiver: address,
        amount: 0,
        suggestedParams,
      } as never)
      const group = [own!, payment!, extra]
      for (const txn of group) txn.group = undefined
      assignGroupID(group)
      const members = [
        encodeUnsignedTransaction(own!),
        encodeMsgpack(new SignedTransaction({ txn: payment!, sig: key.sign(textToSign(payment!.toByte())) })),
        encodeMsgpack(new SignedTransaction({ txn: extra, ...signature })),
      ]
      const paymentGroup = members.map(bytes => Buffer.from(bytes).toString('base64'))
      return facilitator.verify({ ...payload, payload: { paymentGroup, paymentIndex: 1 } }, requirements)
    }
    const unsigned = { isValid: false, invalidReason: 'invalid_exact_avm_simulation_failed' }
    expect(await third({})).toMatchObject(unsigned)
    expect(await third({ sig: new Uint8Array(64) })).toMatchObject(unsigned)
    expect(await third({ msig: { v: 0, thr: 0, subsig: [] } })).toMatchObject(unsigned)
    expect(sponsor.address).toBe(own!.sender.toString())
  })

  it('a refusal in simulation is a refusal, and uses no budget', async () => {
    const { node, facilitator, pay } = await rig()
    const { payload, requirements } = await pay()
    node.set('simulate', simulated('transaction T: overspend (account A)'))
    const verified = await facilitator.verify(payload, requirements)
    expect(verified).toMatchObject({ isValid: false, invalidReason: 'invalid_exact_avm_simulation_failed' })
    expect(readVerify(verified)).toBe('refused')
    const settled = await facilitator.settle(payload, requirements)
    expect(settled).toMatchObject({
      success: false,
      errorReason: 'invalid_exact_avm_simulation_failed',
      transaction: '',
    })
    expect(readSettle(settled)).toBe('refused')
    expect(facilitator.condition().feesToday).toBe(0)
  })
})

describe('when it may have been submitted', () => {
  const UNCLEAR: readonly [string, Fault][] = [
    ...BROKEN,
    ['dies after it took it', 'die-after'],
    ['stalls', 'hang'],
  ]
  it.each(UNCLEAR)(
    'a node that %s at submit: pending with the id, never a no, and never two',
    async (_, fault) => {
      const { node, pass, facilitator, pay, sandbox, sponsor } = await rig()
      const { payload, requirements, txId } = await pay()
      node.set('submit', fault)
      const settling = facilitator.settle(payload, requirements)
      await node.reached('submit')
      if (fault === 'hang') pass(5_000)
      const first = await settling
      expect(first).toMatchObject({ success: false, errorReason: 'settlement_pending', transaction: txId })
      expect(readSettle(first)).toBe('unknown')
      node.set('submit', undefined)
      const more = [
        await facilitator.settle(payload, requirements),
        await facilitator.settle(payload, requirements),
      ]
      expect(more.filter(({ success }) => success).length).toBeLessThanOrEqual(1)
      expect(readSettle(more[1]!)).toBe('spent')
      expect(more[1]).toMatchObject({
        transaction: txId,
        errorMessage: expect.stringContaining('already in ledger'),
      })
      expect(sandbox.transactions().filter(({ txId: id }) => id === txId).length).toBe(1)
      expect(facilitator.condition().feesToday).toBe(2_000)
      expect(sandbox.balance(sponsor.address).microAlgos).toBe(10_000_000n - 2_000n)
    },
  )

  it('a node that names another transaction than it was sent is not believed', async () => {
    const { node, facilitator, pay } = await rig()
    const { payload, requirements } = await pay()
    node.set('submit', { status: 200, text: JSON.stringify({ txId: 'A'.repeat(52) }) })
    const answer = await facilitator.settle(payload, requirements)
    expect(answer).toMatchObject({ success: false, errorReason: 'settlement_pending' })
    expect(readSettle(answer)).toBe('unknown')
  })

  it('a refusal at submission is told with the node’s words, decides nothing, and gives the budget back', async () => {
    const { node, facilitator, pay } = await rig()
    const { payload, requirements, txId } = await pay()
    node.set('submit', REFUSED)
    const answer = await facilitator.settle(payload, requirements)
    expect(answer).toMatchObject({ errorReason: 'invalid_exact_avm_settlement_failed', transaction: txId })
    expect(answer.errorMessage).toContain('overspend')
    expect(readSettle(answer)).toBe('unknown')
    expect(facilitator.condition().feesToday).toBe(0)
    await facilitator.settle(payload, requirements)
    expect(facilitator.condition().feesToday).toBe(0)
  })

  it('a group that the pool drops is told with the node’s words, and stays counted: other nodes may land it', async () => {
    const { node, facilitator, pay } = await rig()
    const { payload, requirements, txId } = await pay()
    node.pool()
    const settling = facilitator.settle(payload, requirements)
    await node.pooled()
    node.drop('txn dead: round 9 outside of 1--8')
    const answer = await settling
    expect(answer).toMatchObject({ errorReason: 'invalid_exact_avm_confirmation_failed', transaction: txId })
    expect(readSettle(answer)).toBe('unknown')
    expect(facilitator.condition().feesToday).toBe(2_000)
  })

  it('a node that dies while it is waited for: the yes comes when it is back, within the time', async () => {
    const { node, facilitator, pay } = await rig()
    const { payload, requirements, txId } = await pay()
    node.pool()
    node.set('wait', 'die')
    const settling = facilitator.settle(payload, requirements)
    await node.pooled()
    node.set('pending', 'die')
    await node.land()
    node.set('pending', undefined)
    expect(await settling).toMatchObject({ success: true, transaction: txId })
  })
})

it.each(Object.keys(DIFFERENCES))('%s comes before submission, so it is a clear no', reason => {
  const answer = { success: false, errorReason: `invalid_exact_avm_${reason}`, transaction: '', network: '' }
  expect(readSettle(answer)).toBe('refused')
})

describe('asked again', () => {
  it('in flight: pending; landed: the ledger’s already, also to verify and after a restart', async () => {
    const { node, facilitator, make, pay } = await rig()
    const { payload, requirements, txId } = await pay()
    node.pool()
    const settling = facilitator.settle(payload, requirements)
    await node.pooled()
    const again = await facilitator.settle(payload, requirements)
    expect(again).toMatchObject({ success: false, errorReason: 'settlement_pending', transaction: txId })
    expect(readSettle(again)).toBe('unknown')
    const restarted = make()
    const pooled = await restarted.settle(payload, requirements)
    expect(pooled).toMatchObject({ success: false, errorReason: 'settlement_pending', transaction: txId })
    expect(readVerify(await restarted.verify(payload, requirements))).toBe('spent')
    expect(readVerify(await facilitator.verify(payload, requirements))).toBe('spent')
    await node.land()
    expect(await settling).toMatchObject({ success: true, transaction: txId })
    for (const asked of [facilitator, restarted, make()]) {
      const answer = await asked.settle(payload, requirements)
      expect(answer).toMatchObject({
        success: false,
        errorReason: 'invalid_exact_avm_settlement_failed',
        errorMessage: `transaction already in ledger: ${txId}`,
        transaction: txId,
      })
      expect(readSettle(answer)).toBe('spent')
      expect(readVerify(await asked.verify(payload, requirements))).toBe('spent')
    }
  })

  it('past its last round, a payment that landed is still found', async () => {
    const { sandbox, facilitator, make, pay } = await rig()
    const { payload, requirements, txId } = await pay()
    expect(await facilitator.settle(payload, requirements)).toMatchObject({ success: true })
    sandbox.advanceRounds(100)
    const answer = await make().settle(payload, requirements)
    expect(answer).toMatchObject({ success: false, transaction: txId })
    expect(readSettle(answer)).toBe('spent')
  })

  it.each(['one process', 'two processes'])('eight at once in %s: one yes', async where => {
    const { facilitator, make, pay, sandbox } = await rig()
    const { payload, requirements, txId } = await pay()
    const other = where === 'one process' ? facilitator : make()
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, at) =>
        (at % 2 === 0 ? facilitator : other).settle(payload, requirements),
      ),
    )
    expect(answers.filter(({ success }) => success).length).toBe(1)
    for (const answer of answers) expect(answer.transaction).toBe(txId)
    expect(sandbox.transactions().filter(({ txId: id }) => id === txId).length).toBe(1)
  })

  it('a node that forgets what it landed, and takes it again: one process still says yes once', async () => {
    const { node, facilitator, pay } = await rig()
    const { payload, requirements } = await pay()
    expect(await facilitator.settle(payload, requirements)).toMatchObject({ success: true })
    const [first] = (payload.payload as { paymentGroup: string[] }).paymentGroup
    const txId = decodeUnsignedTransaction(Buffer.from(first!, 'base64')).txID()
    node.set('pending', UNKNOWN)
    node.set('simulate', simulated(''))
    node.set('submit', { status: 200, text: JSON.stringify({ txId }) })
    const again = await facilitator.settle(payload, requirements)
    expect(again).toMatchObject({
      success: false,
      errorMessage: expect.stringContaining('already in ledger'),
    })
  })
})

describe('a no is final only for what nobody has submitted:', () => {
  const OVERSPEND = simulated('transaction T: overspend (account A)')
  const cheap = {
    'genesis-id': TESTNET.genesisId,
    'genesis-hash': TESTNET.genesisHash,
    'last-round': 5,
    'min-fee': 500,
    fee: 0,
  }

  it("the network's fee fell after a submission without an answer", async () => {
    const { node, facilitator, make, pay } = await rig()
    const { payload, requirements, txId } = await pay()
    node.set('submit', 'die-after')
    await facilitator.settle(payload, requirements)
    node.set('params', { status: 200, text: JSON.stringify(cheap) })
    const restarted = make()
    expect(readVerify(await restarted.verify(payload, requirements))).toBe('spent')
    const answer = await restarted.settle(payload, requirements)
    expect(answer.transaction).toBe(txId)
    expect(readSettle(answer)).toBe('spent')
  })

  it('another process has submitted it, and this one has no budget left', async () => {
    const { facilitator, make, pay } = await rig()
    const { payload, requirements } = await pay()
    expect(await facilitator.settle(payload, requirements)).toMatchObject({ success: true })
    const poor = make({ feePerDayMax: 1 })
    expect(readVerify(await poor.verify(payload, requirements))).toBe('spent')
    expect(readSettle(await poor.settle(payload, requirements))).toBe('spent')
  })

  it('the pool dropped it: other nodes may still have it', async () => {
    const { node, facilitator, make, pay } = await rig()
    const { payload, requirements } = await pay()
    node.pool()
    const settling = facilitator.settle(payload, requirements)
    await node.pooled()
    node.drop('underflow on subtracting 10000 from sender amount 5')
    expect(readSettle(await settling)).toBe('unknown')
    const restarted = make()
    node.set('submit', REFUSED)
    await restarted.settle(payload, requirements)
    expect(restarted.condition().feesToday).toBe(2_000)
    node.set('simulate', OVERSPEND)
    expect(readSettle(await make().settle(payload, requirements))).toBe('unknown')
    for (const pending of [undefined, UNKNOWN]) {
      node.set('pending', pending)
      expect(readSettle(await facilitator.settle(payload, requirements))).toBe('unknown')
    }
  })

  it('the node refused the submission, which a proxy may have sent before', async () => {
    const { node, facilitator, pay } = await rig()
    const { payload, requirements } = await pay()
    node.set('submit', REFUSED)
    expect(readSettle(await facilitator.settle(payload, requirements))).toBe('unknown')
    node.set('simulate', OVERSPEND)
    expect(readSettle(await facilitator.settle(payload, requirements))).toBe('unknown')
  })
})

it('a refusal gives back no fee of an earlier submission that may still land', async () => {
  const { node, facilitator, pay } = await rig()
  const { payload, requirements } = await pay()
  for (const fault of ['die', REFUSED] as const) {
    node.set('submit', fault)
    expect(readSettle(await facilitator.settle(payload, requirements))).toBe('unknown')
    expect(facilitator.condition().feesToday).toBe(2_000)
  }
})

it('a payment that is being settled is not refused for what another question says of it', async () => {
  const { node, pass, facilitator, pay } = await rig()
  const { payload, requirements } = await pay()
  node.set('simulate', 'hang')
  const settling = facilitator.settle(payload, requirements)
  await node.reached('simulate')
  expect(readSettle(await facilitator.settle(payload, { ...requirements, amount: '5' }))).toBe('unknown')
  pass(2_000)
  await expect(settling).rejects.toMatchObject({ code: 'node_unavailable' })
})

describe('says that another server submitted a payment', () => {
  const SERVER = { id: 'a server of the seller', inProcess: true }
  const OTHER = { id: 'another of his servers', inProcess: true }
  const FAR = { id: 'one that asks over REST', inProcess: false }
  const said = ({ submittedBefore }: SettleAnswer) => submittedBefore === true

  it('where its own process submitted it for another asker', async () => {
    const { facilitator, pay } = await rig()
    const { payload, requirements } = await pay()
    const settled = (asker?: typeof SERVER) => facilitator.settle(payload, requirements, asker)
    const first = await settled(SERVER)
    expect([first.success, said(first)]).toEqual([true, false])
    expect(said(await settled(OTHER))).toBe(true)
    expect(said(await settled(FAR))).toBe(true)
    // A network repeats questions, so a server may be its own predecessor.
    expect(said(await settled(SERVER))).toBe(false)
    expect(said(await settled())).toBe(false)
  })

  it('and while that settlement is under way', async () => {
    const { node, facilitator, pay } = await rig()
    const { payload, requirements } = await pay()
    node.pool()
    const settling = facilitator.settle(payload, requirements, FAR)
    await node.pooled()
    expect(said(await facilitator.settle(payload, requirements, SERVER))).toBe(true)
    expect(said(await facilitator.settle(payload, requirements, FAR))).toBe(false)
    expect(said(await facilitator.settle(payload, requirements))).toBe(false)
    await node.land()
    expect(await settling).toMatchObject({ success: true })
  })

  it('where a question that cannot have come twice finds a group of its sponsor on the chain', async () => {
    const { facilitator, make, pay } = await rig()
    const { payload, requirements } = await pay()
    expect(await facilitator.settle(payload, requirements, SERVER)).toMatchObject({ success: true })
    expect(said(await make().settle(payload, requirements, OTHER))).toBe(true)
    expect(said(await make().settle(payload, requirements, FAR))).toBe(false)
    expect(said(await make().settle(payload, requirements))).toBe(false)
  })

  it('not where the payer may have submitted it, which needs no sponsor', async () => {
    const { facilitator, make, pay } = await rig()
    const { payload, requirements } = await pay({ extra: {} })
    expect(await facilitator.settle(payload, requirements, SERVER)).toMatchObject({ success: true })
    expect(said(await make().settle(payload, requirements, OTHER))).toBe(false)
  })

  it('not where its own submission reached the node twice', async () => {
    const { node, facilitator, pay } = await rig()
    const { payload, requirements } = await pay()
    node.set('submit', 'twice')
    const answer = await facilitator.settle(payload, requirements, SERVER)
    expect(readSettle(answer)).toBe('spent')
    expect(said(answer)).toBe(false)
    expect(facilitator.condition().feesToday).toBe(2_000)
  })
})

it('sixteen payments that wait for their round take no connection from the others', async () => {
  const { node, facilitator, pay } = await rig()
  node.pool()
  const settling: Promise<SettleAnswer>[] = []
  for (let at = 0; at < 16; at++) {
    const { payload, requirements } = await pay()
    settling.push(facilitator.settle(payload, requirements))
  }
  // Each is asked for before its submission and after it.
  await node.reached('pending', 32)
  await node.reached('wait')
  const { payload, requirements } = await pay()
  expect(await facilitator.verify(payload, requirements)).toMatchObject({ isValid: true })
  // One question for all; another where a round has passed since, on a busy machine.
  expect(node.asked.filter(step => step === 'wait').length).toBeLessThan(settling.length)
  await node.land()
  for (const answer of await Promise.all(settling)) expect(answer.success).toBe(true)
})

it('closed: waits for what has begun, and refuses what comes later', async () => {
  const { node, facilitator, pay } = await rig()
  const { payload, requirements } = await pay()
  node.pool()
  const settling = facilitator.settle(payload, requirements)
  await node.pooled()
  const closed = facilitator.close()
  await expect(facilitator.verify(payload, requirements)).rejects.toMatchObject({
    code: 'facilitator_closed',
  })
  await node.land()
  expect(await settling).toMatchObject({ success: true })
  await closed
})
