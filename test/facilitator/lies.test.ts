/** Nodes that stall, lie and die at each step; and our own server's reading of every answer. */
import { decodeUnsignedTransaction } from 'algosdk'
import { describe, expect, it } from 'vitest'
import { DIFFERENCES } from '../../src/adapters/algorand/facilitating/group-checks.js'
import { settlementOf, verificationOf } from '../../src/adapters/facilitator/verdict-of-response.js'
import type { SettleAnswer, VerifyAnswer } from '../../src/ports/protocol-facilitator.js'
import type { Fault } from '../support/faulty-node.js'
import { moved, rig } from './rig.js'

const readSettle = (answer: SettleAnswer) => settlementOf({ status: 200, body: { ...answer } }).verdict
const readVerify = (answer: VerifyAnswer) => verificationOf({ status: 200, body: { ...answer } }).verdict
const OTHER_HASH = 'wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8='

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
    (['params', 'simulate'] as const).flatMap(step => BROKEN.map(([how, fault]) => ({ step, how, fault }))),
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
    const { node, facilitator, pay } = await rig()
    const { payload, requirements } = await pay()
    node.set('simulate', 'hang')
    await expect(facilitator.settle(payload, requirements)).rejects.toMatchObject({
      code: 'node_unavailable',
    })
    expect(node.asked).not.toContain('submit')
  })

  it('a node of another network gets no signature', async () => {
    const { node, facilitator, pay } = await rig()
    const { payload, requirements } = await pay()
    const params = {
      'genesis-hash': OTHER_HASH,
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

  it('a refusal in simulation is a refusal, and gives the budget back', async () => {
    const { node, facilitator, pay } = await rig()
    const { payload, requirements } = await pay()
    const group = { 'failure-message': 'transaction T: overspend (account A)', 'txn-results': [] }
    node.set('simulate', { status: 200, text: JSON.stringify({ 'last-round': 9, 'txn-groups': [group] }) })
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

  it('a refusal in simulation proves nothing while the node cannot say whether the payment is in its pool', async () => {
    const { node, facilitator, pay } = await rig()
    const { payload, requirements } = await pay()
    const group = { 'failure-message': 'transaction T: overspend (account A)', 'txn-results': [] }
    node.set('simulate', { status: 200, text: JSON.stringify({ 'last-round': 9, 'txn-groups': [group] }) })
    node.set('pending', 'die')
    expect(readSettle(await facilitator.settle(payload, requirements))).toBe('unknown')
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
      const { node, facilitator, pay, sandbox, sponsor } = await rig()
      const { payload, requirements, txId } = await pay()
      node.set('submit', fault)
      const first = await facilitator.settle(payload, requirements)
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
    expect(answer.errorMessage).toContain('another transaction')
    expect(readSettle(answer)).toBe('unknown')
    expect(node.asked).not.toContain('pending')
  })

  it('a refusal at submission is told with the node’s words, decides nothing, and gives the budget back', async () => {
    const { node, facilitator, pay } = await rig()
    const { payload, requirements, txId } = await pay()
    node.set('submit', { status: 400, text: '{"message":"TransactionPool.Remember: overspend"}' })
    const answer = await facilitator.settle(payload, requirements)
    expect(answer).toMatchObject({ errorReason: 'invalid_exact_avm_settlement_failed', transaction: txId })
    expect(answer.errorMessage).toContain('overspend')
    expect(readSettle(answer)).toBe('unknown')
    expect(facilitator.condition().feesToday).toBe(0)
  })

  it('a group that the pool drops is told with the node’s words, and gives the budget back', async () => {
    const { node, facilitator, pay } = await rig()
    const { payload, requirements, txId } = await pay()
    node.pool()
    const settling = facilitator.settle(payload, requirements)
    await node.pooled()
    node.drop('txn dead: round 9 outside of 1--8')
    const answer = await settling
    expect(answer).toMatchObject({ errorReason: 'invalid_exact_avm_confirmation_failed', transaction: txId })
    expect(readSettle(answer)).toBe('unknown')
    expect(facilitator.condition().feesToday).toBe(0)
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
    expect(readSettle(again)).toBe('spent')
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

  it('a balancer whose nodes each take the payment as new: one process still says yes once', async () => {
    const { node, facilitator, pay } = await rig()
    const { payload, requirements } = await pay()
    const [first] = (payload.payload as { paymentGroup: string[] }).paymentGroup
    const txId = decodeUnsignedTransaction(Buffer.from(first!, 'base64')).txID()
    node.set('submit', { status: 200, text: JSON.stringify({ txId }) })
    node.set('pending', { status: 200, text: '{"pool-error":"","txn":{},"confirmed-round":5}' })
    const settle = () => facilitator.settle(payload, requirements)
    const answers = [...(await Promise.all([settle(), settle(), settle()])), await settle()]
    expect(answers.filter(({ success }) => success).length).toBe(1)
  })

  it('tells each later question that the payment was submitted before', async () => {
    const { facilitator, make, pay } = await rig()
    const { payload, requirements } = await pay()
    const first = await facilitator.settle(payload, requirements)
    expect(first).toMatchObject({ success: true })
    expect(first).not.toHaveProperty('submittedBefore')
    for (const later of [facilitator, make()])
      expect(await later.settle(payload, requirements)).toMatchObject({ submittedBefore: true })
  })
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
