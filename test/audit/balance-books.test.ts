/** The books of balances: what was sold is what the chain moved, and what was used is what the answers said, to the base unit. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { memoryChargeStore } from '../../src/adapters/memory/charge-store.js'
import { balanceAccounts } from '../../src/audit/reconciliation/balance-accounts.js'
import { defineEndpoint, type HandlerContext, SvcError } from '../../src/index.js'
import { svc } from '../cli/run.js'
import { ask, openSeller, pay, type Seller } from '../support/seller.js'
import { callOf } from './calls.js'

const metered = defineEndpoint({
  name: 'metered',
  price: '$0.01',
  handler({ body, charge }: HandlerContext) {
    const { costs, fails } = body as { costs?: string; fails?: boolean }
    if (costs) charge(costs)
    if (fails) throw new SvcError('not today', 'not_today', 422)
    return { ok: true }
  },
})
const stream = defineEndpoint({
  name: 'stream',
  price: '$0.01',
  stream: true,
  async *handler({ charge }: HandlerContext) {
    yield { n: 1 }
    charge('$0.004321')
    yield { n: 2 }
  },
})

let folder: string
let seller: Seller
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-balance-books-'))
  seller = await openSeller([metered, stream], {
    journal: join(folder, 'seller.jsonl'),
    stores: { charges: memoryChargeStore() },
    about: { balance: { amounts: ['$1', '$5'], period: '90d' } },
  })
})
afterAll(async () => {
  await seller.close()
  await rm(folder, { recursive: true, force: true })
})

it('are equal to the chain and to the runs', async () => {
  let used = 0
  for (const amount of ['$1', '$5']) {
    const sale = await pay(seller, `${seller.url}/balance`, { body: { amount } })
    const headers = (key: string) => ({
      'x-svc-balance-key': sale.headers.get('x-svc-balance-key')!,
      'idempotency-key': `${amount} ${key}`.replaceAll(' ', '-'),
    })
    const bodies = [{}, { costs: '$0.000001' }, { costs: '$0' }, { fails: true }, { costs: '$0.0071' }]
    for (const [at, body] of bodies.entries()) {
      const answer = await ask(`${seller.url}/metered`, { body, headers: headers(`call-${at}`) })
      used += Number(answer.headers.get('x-svc-charged') ?? 0)
    }
    const ended = seller.nextEnded()
    await (await ask(`${seller.url}/stream`, { body: {}, headers: headers('stream') })).text()
    const { units } = await ended
    used += units!.used!
    expect(units!.left).toBe(Number(amount.slice(1)) * 1_000_000 - 10_000 - 1 - 7_100 - 4_321)
    const again = await ask(`${seller.url}/metered`, { body: {}, headers: headers('call-0') })
    expect(again.headers.get('idempotency-replayed')).toBe('true')
  }
  expect(used).toBe(2 * (10_000 + 1 + 7_100 + 4_321))
  await seller.server.shutdown('audit')
  const { sandbox } = seller
  const audit = (...flags: string[]) =>
    svc(['audit', join(folder, 'seller.jsonl'), '--to', '2120-01-01', ...flags], { SVC_SANDBOX: sandbox.url })
  const audited = await audit('--json')
  const report = JSON.parse(audited.stdout)
  expect([audited.code, report.differences]).toEqual([0, []])
  const sum = (of: string) =>
    report.balances.reduce((sum: number, account: Record<string, string>) => sum + Number(account[of]), 0)
  expect(BigInt(sum('soldBaseUnits'))).toBe(sandbox.balance(sandbox.seller.address).usdc)
  expect(sum('usedBaseUnits')).toBe(used)
  expect(sum('unspentBaseUnits')).toBe(6_000_000 - used)
  const told = await audit()
  expect(told.stdout).toContain(
    'balances: $6.00 sold, $0.042844 used, $5.957156 unspent, $0.00 expired, $0.00 in doubt',
  )
})

it('say what is left as unspent until the period ends, and as expired from then on', () => {
  const accounts = balanceAccounts()
  const sale = { ...callOf(1), amount: '5000', units: { balance: 'b', sold: 5_000 }, windowEndsMs: 1_000 }
  accounts.add(sale, true)
  // Another run reports the same payment.
  accounts.add(sale, false)
  accounts.add({ ...callOf(1), units: { balance: 'b', used: 2_000, left: 3_000 } }, false)
  accounts.add({ ...callOf(1), units: { balance: 'b', inDoubt: 700 } }, false)
  expect(accounts.list(999)).toEqual([
    {
      balance: 'b',
      soldBaseUnits: 5_000n,
      usedBaseUnits: 2_000n,
      inDoubtBaseUnits: 700n,
      unspentBaseUnits: 3_000n,
      expiredBaseUnits: 0n,
      endsMs: 1_000,
    },
  ])
  expect(accounts.list(1_000)[0]).toMatchObject({ unspentBaseUnits: 0n, expiredBaseUnits: 3_000n })
})
