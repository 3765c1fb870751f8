/**
 * Tasks that wait for their payment, under delays, crashes and lies: one task is charged at most once, and its answer is not
 * lost. On memory and on a real Redis; the ledger's balances are the assertion.
 */
import { once } from 'node:events'
import { request } from 'node:http'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { withIdentifier } from '../../src/domain/idempotency-key.js'
import { emptiedRedis } from '../support/emptied-redis.js'
import { heldFacilitator } from '../support/held-facilitator.js'
import {
  ACTIVATED,
  begin,
  begun,
  lastTxId,
  paying,
  received,
  rejecting,
  send,
  type Told,
  textOf,
} from '../support/payment-tasks.js'
import { childReplica, openReplicas } from '../support/replicas.js'
import { ask, presenting, type Seller, signQuote } from '../support/seller.js'
import { taskSellers } from '../support/task-sellers.js'

const PRICE = 10_000n

const redis = emptiedRedis()

const { answer, seen, SELLERS } = taskSellers(redis)

const codesOf = (told: readonly Told[]) => told.map(({ is }) => is).sort()
/** The same message until it is answered: the lease of an earlier request may have to end first. */
async function settled(url: string, message: Parameters<typeof send>[1]): Promise<Told> {
  let told!: Told
  await expect
    .poll(async () => {
      told = await send(url, message)
      return told.status
    })
    .toBe(200)
  return told
}

/** A message whose caller hangs up. `fetch` opens another connection in the place of one that it gave up, and keeps it for seconds. */
function sendUntil(
  signal: AbortSignal,
  url: string,
  message: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const params = { message: { role: 'user', ...message } }
  const sent = request(`${url}/a2a`, {
    method: 'POST',
    signal,
    agent: false,
    headers: { 'content-type': 'application/json', ...ACTIVATED, ...headers },
  })
  sent.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/send', params }))
  return once(sent, 'response')
}

/** Hangs up, and waits until the server has lost the connection. */
async function noticed({ server }: Seller, lost: Promise<unknown>, hangUp: AbortController): Promise<void> {
  const connections = promisify(server.getConnections.bind(server))
  const before = await connections()
  hangUp.abort()
  await expect(lost).rejects.toThrow()
  await expect.poll(connections).toBeLessThan(before)
}

describe.each(Object.entries(SELLERS))('a task, %s', (_, sell) => {
  it('that many requests with one payment pay at once runs once, and answers all of them in the end', async () => {
    const [one, other] = await sell()
    const { paid } = await begun(one)
    const racing = Array.from({ length: 32 }, (__, at) => send(at % 2 ? one.url : other.url, paid))
    const told = await Promise.all(racing)
    for (const { is } of told) expect(['completed', 'idempotency_in_progress']).toContain(is)
    const again = await send(other.url, paid)
    expect(again).toMatchObject({ is: 'completed', data: { run: 1 } })
    expect(again.metadata).toMatchObject({
      'svc.replayed': true,
      'x402.payment.receipts': [{ success: true, transaction: lastTxId(one) }],
    })
    expect([seen.runs, received(one)]).toEqual([1, PRICE])
  })

  it.each(['the same payer', 'two payers'])(
    'that two payments of %s pay at once is charged once',
    async who => {
      const [one, other] = await sell()
      const { id, required, paid } = await begun(one)
      const account = who === 'two payers' ? 'another' : undefined
      const second = paying(id, await signQuote(one, required, { account }))
      const told = await Promise.all([send(one.url, paid), send(other.url, second)])
      expect(codesOf(told)).toEqual(['completed', 'task_has_payment'])
      const loser = told.find(({ is }) => is === 'task_has_payment')!
      expect(loser).toMatchObject({ status: 409, error: { code: -32000, data: { txId: lastTxId(one) } } })
      expect(loser.error!.message).toMatch(/was not charged/)
      const lost = told[0] === loser ? paid : second
      // Not later either, wherever it is sent, and the answer is not given to it.
      for (const { url } of [one, other]) {
        const again = await send(url, lost)
        expect(again.is).toBe('task_has_payment')
        expect(again.data).toBeUndefined()
      }
      expect([seen.runs, received(one)]).toEqual([1, PRICE])
    },
  )

  it('whose payment and refusal to pay come at once is one or the other', async () => {
    const [one, other] = await sell()
    let charged = 0n
    for (let round = 0; round < 4; round++) {
      const { id, paid } = await begun(one)
      const [told, declined] = await Promise.all([send(one.url, paid), send(other.url, rejecting(id))])
      if (told.is === 'completed') {
        charged += PRICE
        expect([declined.status, declined.is]).toEqual([409, 'task_has_payment'])
      } else expect([told.is, declined.is]).toEqual([-32001, 'failed'])
      expect(received(one)).toBe(charged)
    }
  })

  it('that was declined after its payment is still paid', async () => {
    const [one, other] = await sell()
    const { id, paid } = await begun(one)
    await send(one.url, paid)
    for (const message of [rejecting(id), { taskId: id, parts: [] }]) {
      const told = await send(other.url, message)
      expect(told).toMatchObject({ is: 'task_has_payment', error: { data: { txId: lastTxId(one) } } })
    }
    expect(await send(other.url, paid)).toMatchObject({ is: 'completed', data: { run: 1 } })
  })

  it('shares no payment with another task', async () => {
    const [one, other] = await sell()
    const [first, second] = [await begun(one), await begin(other)]
    const both = [send(one.url, first.paid), send(other.url, paying(second.id, first.payment))]
    const told = await Promise.all(both)
    const codes = codesOf(told)
    expect(codes).toContain('completed')
    expect(codes.some(code => code === 'payment_in_use' || code === 'payment_spent')).toBe(true)
    expect([seen.runs, received(one)]).toEqual([1, PRICE])
  })

  it('is opened to nobody by a payment that landed elsewhere, and its own answer only to its id', async () => {
    const [one, other] = await sell()
    const first = await begun(one)
    await send(one.url, first.paid)
    const stranger = await begin(other, textOf('mine'))
    const told = await send(other.url, paying(stranger.id, first.payment))
    expect(told).toMatchObject({ status: 409, is: 'payment_spent' })
    const overHttp = await ask(`${other.url}/answer`, {
      body: { text: 'hello' },
      headers: presenting(first.payment),
    })
    expect(overHttp.status).toBe(409)
    expect([seen.runs, received(one)]).toEqual([1, PRICE])
  })

  for (const idempotency of [
    undefined,
    { onLostResponse: 'release' },
    { onLostResponse: 'replay' },
  ] as const) {
    it(`whose answer was lost gives it again to its payment (keys: ${idempotency?.onLostResponse ?? 'off'})`, async () => {
      const facilitator = heldFacilitator()
      const [one, other] = await sell({ idempotency, facilitatorUrl: await facilitator.url })
      facilitator.serves(one.sandbox)
      // Some HTTP clients put a new key on each request. The task names the call.
      const key = (name: string) => ({ 'idempotency-key': `a-key-that-cannot-be-guessed-${name}` })
      const { paid } = await begun(one)
      const settle = facilitator.hold('/settle', { success: true, transaction: '' }, { landed: true })
      const hangUp = new AbortController()
      const lost = sendUntil(hangUp.signal, one.url, paid, key('first'))
      await settle.arrived
      const ended = one.nextEnded()
      await noticed(one, lost, hangUp)
      settle.answer()
      await ended
      const told = await send(other.url, paid, { ...ACTIVATED, ...key('second') })
      expect(told).toMatchObject({ is: 'completed', data: { run: 1 } })
      expect([seen.runs, received(one)]).toEqual([1, PRICE])
    })
  }

  it('whose payment has the id of an earlier one is its answer, and the payment stays unused', async () => {
    const [one, other] = await sell({ idempotency: { onLostResponse: 'replay' } })
    const named = ({ id, payment }: Awaited<ReturnType<typeof begun>>) =>
      paying(id, withIdentifier(payment, 'an-id-that-cannot-be-guessed'))
    const [first, second] = [await begun(one), await begun(other)]
    expect((await send(one.url, named(first))).data).toMatchObject({ run: 1 })
    expect(await send(other.url, named(second))).toMatchObject({
      is: 'completed',
      data: { run: 1 },
      metadata: { 'svc.replayed': true },
    })
    expect([seen.runs, received(one)]).toEqual([1, PRICE])
  })

  it('has the key that a seller requires', async () => {
    const [one] = await sell({ idempotency: { required: true } })
    const { paid } = await begun(one)
    expect((await send(one.url, paid)).is).toBe('completed')
    expect(received(one)).toBe(PRICE)
  })

  it('is not harmed by a payment with a wrong id: the same payment comes again without one', async () => {
    const [one, other] = await sell({ idempotency: {} })
    const { id, payment, paid } = await begun(one)
    const identifier = { info: { required: false, id: 'short' } }
    const wrong = paying(id, { ...payment, extensions: { 'payment-identifier': identifier } })
    expect(await send(one.url, wrong)).toMatchObject({ status: 400, is: 'invalid_payment_identifier' })
    expect((await send(other.url, paid)).is).toBe('completed')
    expect(received(one)).toBe(PRICE)
  })

  it('waits on while the facilitator does not answer, and is paid by the same payment later', async () => {
    const [one, other] = await sell()
    const { paid } = await begun(one)
    one.sandbox.faults.set('verify', '500', { times: 1 })
    expect(await send(one.url, paid)).toMatchObject({ status: 503, is: 'facilitator_unavailable' })
    expect((await send(other.url, paid)).is).toBe('completed')
    expect([seen.runs, received(one)]).toEqual([1, PRICE])
  })

  it('whose caller hangs up before the charge is not charged, and is paid by the same payment later', async () => {
    const facilitator = heldFacilitator()
    const [one, other] = await sell({ facilitatorUrl: await facilitator.url })
    facilitator.serves(one.sandbox)
    const { paid } = await begun(one)
    const verify = facilitator.hold('/verify', { isValid: true })
    const hangUp = new AbortController()
    const lost = sendUntil(hangUp.signal, one.url, paid)
    await verify.arrived
    const ended = one.nextEnded()
    await noticed(one, lost, hangUp)
    verify.answer()
    expect((await ended).charged).toBe('no')
    expect([facilitator.count('/settle'), received(one)]).toEqual([0, 0n])
    expect((await settled(other.url, paid)).data).toBeDefined()
    expect(received(one)).toBe(PRICE)
  })

  it('whose settlement is unknown is answered to the same payment, and to no new one', async () => {
    const timeouts = { certaintyMs: 300, reconcilePauseMs: 50 }
    const [one, other] = await sell({ advanced: { timeouts } })
    const { id, required, paid } = await begun(one)
    one.sandbox.faults.set('settle', '500', { times: 20 })
    const unknown = await send(one.url, paid)
    expect(unknown).toMatchObject({ status: 503, is: 'settlement_unknown' })
    one.sandbox.faults.clear()
    const another = paying(id, await signQuote(other, required))
    expect((await send(other.url, another)).is).toBe('task_has_payment')
    expect(await settled(other.url, paid)).toMatchObject({ is: 'completed', data: { run: 1 } })
    expect([seen.runs, received(one)]).toEqual([1, PRICE])
  })
})

describe('a process that dies', () => {
  it.each([false, true])(
    'while it settles (landed: %s) leaves the task to another, charged once',
    async landed => {
      const facilitator = heldFacilitator()
      const [survivor] = await openReplicas(1, [answer], {
        redisUrl: redis.url,
        facilitatorUrl: await facilitator.url,
        advanced: { timeouts: { reconcilePauseMs: 50 } },
      })
      facilitator.serves(survivor!.sandbox)
      const child = await childReplica(survivor!.sandbox, redis.url, {
        facilitatorUrl: await facilitator.url,
        advanced: { timeouts: { leaseMs: 300 } },
      })
      const task = await begin({ url: child.url })
      const payment = await signQuote(survivor!, task.required)
      const paid = paying(task.id, payment)
      const settle = facilitator.hold('/settle', {}, { landed })
      const cut = send(child.url, paid).catch(() => 'cut')
      await settle.arrived
      child.process.kill('SIGKILL')
      expect(await cut).toBe('cut')
      const another = paying(task.id, await signQuote(survivor!, task.required))
      expect((await send(survivor!.url, another)).is).toBe('task_has_payment')
      const told = await settled(survivor!.url, paid)
      expect(told).toMatchObject({ is: 'completed', metadata: { 'svc.replayed': true } })
      expect(seen.runs).toBe(0)
      expect(received(survivor!)).toBe(PRICE)
    },
  )
})
