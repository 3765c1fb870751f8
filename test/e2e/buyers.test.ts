/** Buyers' processes that share one budget on Redis and live for a second: what one signed, the others count and settle. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { distinctPayments, failure, marketForFile, type Script, type Seller } from '../client/market.js'
import { type RedisServer, startRedis } from '../support/redis-server.js'

const run = promisify(execFile)
const SCRIPT = fileURLToPath(new URL('../support/buyer-process.mjs', import.meta.url))
const DEAR = 250_000n

const market = marketForFile()
let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

/** What each call of the process came to; it may die of a signal. */
async function buyer(wallet: string, url: string, options: object = {}): Promise<string[]> {
  const { algodUrl } = market.sandbox
  const { mnemonic } = market.sandbox.accounts(wallet)
  const shared = { network: 'testnet', maxPrice: '$0.25', maxPerDay: '$1', retry: false, calls: 3 }
  const given = { url, mnemonic, algodUrl, redisUrl: redis.url, ...shared, ...options }
  const ran = run(process.execPath, [SCRIPT, JSON.stringify(given)])
  const { stdout } = await ran.catch((failed: { signal?: string; stdout: string }) => {
    if (failed.signal !== 'SIGKILL') throw failed
    return failed
  })
  return stdout.split('\n').flatMap(line => (line ? [JSON.parse(line)] : []))
}

function spentBy(wallet: string): () => bigint {
  const { address } = market.sandbox.accounts(wallet)
  const before = market.sandbox.balance(address).usdc!
  return () => before - market.sandbox.balance(address).usdc!
}

const hoard: Script = (seen, shop) =>
  seen.payment ? failure(400, 'invalid_input') : shop.challenge(shop.entry({ amount: DEAR.toString() }))

async function landAll(seller: Seller): Promise<void> {
  const fence = await market.seller(async ({ headers }, shop) => {
    await shop.settle(headers['x-hoarded']!)
    return { status: 200 }
  })
  for (const payment of distinctPayments(seller))
    await fetch(fence.url, { headers: { 'x-hoarded': payment! } })
}

describe('processes of one budget', () => {
  it('spend $1 under a cap of $1, at a seller that hoards what each of them signed', async () => {
    const spent = spentBy('one budget')
    const seller = await market.seller(hoard)
    const outcomes = (await Promise.all([1, 2].map(() => buyer('one budget', seller.url)))).flat()
    outcomes.push(...(await buyer('one budget', seller.url)))
    expect(outcomes.sort()).toEqual([...Array(4).fill('call_failed'), ...Array(5).fill('daily_cap_reached')])
    await landAll(seller)
    expect(spent()).toBe(4n * DEAR)
    market.sandbox.advanceRounds(300)
    expect(await buyer('one budget', seller.url)).toEqual(Array(3).fill('daily_cap_reached'))
    expect(spent()).toBe(4n * DEAR)
  })

  it('free what an earlier process signed, once the chain proves that it cannot land', async () => {
    const spent = spentBy('another budget')
    const seller = await market.seller(hoard)
    const budget = { calls: 5, maxPerDay: '$2' }
    expect(await buyer('another budget', seller.url, budget)).toEqual([
      ...Array(4).fill('call_failed'),
      'daily_cap_reached',
    ])
    market.sandbox.advanceRounds(300)
    // A call waits a bounded time for the proofs: on a busy machine the first ones are refused, and the next find what is free.
    const later = await buyer('another budget', seller.url, { ...budget, calls: 9 })
    expect(later.at(-1)).toBe('daily_cap_reached')
    expect(later.sort()).toEqual([...Array(4).fill('call_failed'), ...Array(5).fill('daily_cap_reached')])
    await landAll(seller)
    expect(spent()).toBe(4n * DEAR)
  })

  it('count what a process had signed when it was killed, until that cannot land', async () => {
    const spent = spentBy('killed')
    const seller = await market.seller(hoard)
    const budget = { maxPerDay: '$2.25', calls: 1 }
    expect(await buyer('killed', seller.url, { ...budget, diesSending: true })).toEqual([])
    expect(seller.paid()).toEqual([])
    expect(await buyer('killed', seller.url, budget)).toEqual(['daily_cap_reached'])
    market.sandbox.advanceRounds(300)
    const later = await buyer('killed', seller.url, { ...budget, calls: 4 })
    expect(later.sort()).toEqual(['call_failed', ...Array(3).fill('daily_cap_reached')])
    await landAll(seller)
    expect(spent()).toBe(DEAR)
  })
})
