/** Kept answers have budgets: an owner's own answers make room, and what is dropped are bytes, never a name. The ledger tells. */
import { describe, expect, it } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { EVERY_DOOR, type Told } from '../support/doors.js'
import { keyed, type OwnedSeller, ownershipWorld, randomKey } from '../support/ownership.js'
import { proving, txIdIn } from '../support/payer-proof.js'
import { ACTIVATED, begun, send, textOf } from '../support/payment-tasks.js'
import { signFor } from '../support/seller.js'

const PRICE = 10_000n
const LARGE = 'x'.repeat(900_000)
/** An answer loses its bytes when newer ones of its owner take 4 MiB; and as many more. */
const HELD = 5
const MORE = 2

const world = ownershipWorld()
const http = EVERY_DOOR.HTTP!
let runs = 0
const large = () => `${++runs} ${LARGE}`
const ENDPOINTS = [
  defineEndpoint({ name: 'large', price: '$0.01', handler: large }),
  defineEndpoint({ name: 'small', price: '$0.01', handler: () => ({ run: ++runs }) }),
  defineEndpoint({ name: 'window', subscription: { price: '$0.01', period: '1h' }, handler: large }),
  defineEndpoint({
    name: 'counted',
    subscription: { price: '$0.01', period: '1h', calls: 20 },
    handler: large,
  }),
]

type Payer = ReturnType<typeof world.payer>

async function opened(options: Parameters<typeof world.open>[1]) {
  runs = 0
  const seller = await world.open(ENDPOINTS, options)
  const before = world.received()
  return { seller, earned: () => world.received() - before }
}

const sign = (seller: OwnedSeller, skill: string, { label }: Payer) =>
  signFor(seller, `${seller.url}/${skill}`, { account: label, body: {} })

/** A call that is paid for by itself. */
async function bought(seller: OwnedSeller, skill: string, payer: Payer, key: object = {}) {
  const payment = await sign(seller, skill, payer)
  const proof = () => proving(payer, seller.url, payment)
  const ask = (...more: object[]): Promise<Told> =>
    http(seller.url, { skill, input: {}, headers: Object.assign({}, payment, key, ...more) })
  expect(await ask()).toMatchObject({ code: 'ok', replayed: false })
  return { payment, key, ask, proof, txId: txIdIn(payment) }
}

describe.each(['memory', 'Redis'])('on %s', kind => {
  const stores = () => world.STORES[kind]!()

  it.each(['release', 'replay'] as const)(
    'an owner’s answers beyond its bytes lose them, and no key is charged again: %s',
    async onLostResponse => {
      const { seller, earned } = await opened({ stores: stores(), idempotency: { onLostResponse } })
      const [owner, other] = [world.payer(), world.payer()]
      const first = await bought(seller, 'large', other, keyed('theirs'))
      const calls = []
      for (let at = 0; at < HELD + MORE; at++)
        calls.push(await bought(seller, 'large', owner, keyed(at % 2 === 0 ? `order-${at}` : randomKey())))
      const paid = BigInt(HELD + MORE + 1)
      for (const [at, { key, ask, proof, txId }] of calls.entries()) {
        const fresh = { ...(await sign(seller, 'large', owner)), ...key }
        const again = [
          await ask(proof()),
          await http(seller.url, { skill: 'large', input: {}, headers: fresh }),
        ]
        for (const told of again) {
          if (at >= MORE) expect(told).toMatchObject({ code: 'ok', replayed: true })
          else expect([told.status, told.code, told.problem!.txId]).toEqual([409, 'answer_not_kept', txId])
        }
      }
      expect(await first.ask(first.proof())).toMatchObject({ code: 'ok', replayed: true })
      expect([BigInt(runs), earned()]).toEqual([paid, paid * PRICE])
    },
  )

  it('answers without a key make room too, and are told from answers that were never paid for', async () => {
    const { seller, earned } = await opened({ stores: stores() })
    const owner = world.payer()
    const calls = []
    for (let at = 0; at < HELD + MORE; at++) calls.push(await bought(seller, 'large', owner))
    for (const [at, { ask, proof }] of calls.entries())
      expect((await ask(proof())).code).toBe(at < MORE ? 'answer_not_kept' : 'ok')
    expect(earned()).toBe(BigInt(HELD + MORE) * PRICE)
  })

  it.each(['window', 'counted'])('the answers of a %s make room for each other alone', async skill => {
    const { seller, earned } = await opened({ stores: stores(), idempotency: {} })
    const owner = world.payer()
    const paid = await bought(seller, 'large', owner, keyed(randomKey()))
    const payment = await sign(seller, skill, owner)
    const sale = await http(seller.url, { skill, input: {}, headers: payment })
    const window = { 'x-svc-subscription': sale.subscriptionKey! }
    const call = (key: string) =>
      http(seller.url, { skill, input: {}, headers: { ...window, ...keyed(key) } })
    const keys = Array.from({ length: HELD + MORE }, () => randomKey())
    for (const key of keys) expect((await call(key)).code).toBe('ok')
    for (const [at, key] of keys.entries())
      expect((await call(key)).code).toBe(at < MORE ? 'answer_not_kept' : 'ok')
    expect(await paid.ask(paid.proof())).toMatchObject({ code: 'ok', replayed: true })
    const told = await http(seller.url, {
      skill,
      input: {},
      headers: { ...payment, ...proving(owner, seller.url, payment) },
    })
    expect(told).toMatchObject({ replayed: true, subscriptionKey: sale.subscriptionKey })
    const calls = HELD + MORE + 2
    expect([runs, earned()]).toEqual([calls, 2n * PRICE])
    if (skill === 'counted') expect((await call(randomKey())).remaining).toBe(20 - calls)
  })

  it('an answer in a task that a window covered is in the budget of its window', async () => {
    const { seller, earned } = await opened({ stores: stores() })
    const windowOf = async (payer: Payer) => {
      const headers = await sign(seller, 'window', payer)
      return (await http(seller.url, { skill: 'window', input: {}, headers })).subscriptionKey!
    }
    const covered = async (key: string) => {
      const { paid } = await begun(seller, { ...textOf('any'), metadata: { skillId: 'window' } })
      const ask = () => send(seller.url, paid, { ...ACTIVATED, 'x-svc-subscription': key })
      expect((await ask()).is).toBe('completed')
      return ask
    }
    const again = await covered(await windowOf(world.payer()))
    const theirs = await windowOf(world.payer())
    for (let at = 0; at < HELD + MORE; at++) await covered(theirs)
    const before = runs
    expect(await again()).toMatchObject({ is: 'completed', metadata: { 'svc.replayed': true } })
    expect([runs - before, earned()]).toEqual([0, 2n * PRICE])
  })
})

it('in memory a number bounds all answers, and takes from the owner that has the most', async () => {
  const { seller, earned } = await opened({ idempotency: { max: 4 } })
  const [owner, others] = [world.payer(), [world.payer(), world.payer()]]
  const calls = []
  for (let at = 0; at < 3; at++) calls.push(await bought(seller, 'small', owner, keyed(randomKey())))
  const theirs = []
  for (const other of others) theirs.push(await bought(seller, 'small', other, keyed(randomKey())))
  const codes = async (asked: readonly { ask(): Promise<Told> }[]) =>
    Promise.all(asked.map(async ({ ask }) => (await ask()).code))
  expect(await codes(theirs)).toEqual(['ok', 'ok'])
  expect(await codes(calls)).toEqual(['answer_not_kept', 'ok', 'ok'])
  const { key, txId } = calls[0]!
  const fresh = { ...(await sign(seller, 'small', owner)), ...key }
  const told = await http(seller.url, { skill: 'small', input: {}, headers: fresh })
  expect([told.code, told.problem!.txId]).toEqual(['answer_not_kept', txId])
  expect([runs, earned()]).toEqual([5, 5n * PRICE])
})
