/** Two processes of one budget on Redis, and two replicas of a seller: one balance at a time, to the base unit. */
import { execFile } from 'node:child_process'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { SvcClient } from '../../src/client.js'
import { defineEndpoint } from '../../src/index.js'
import { redisStores } from '../../src/redis.js'
import { closing } from '../support/closing.js'
import { PATIENT, type RedisServer, startRedis } from '../support/redis-server.js'
import { openReplicas } from '../support/replicas.js'

const run = promisify(execFile)
const SCRIPT = fileURLToPath(new URL('../support/buyer-process.mjs', import.meta.url))

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

/** One address for several servers, which are asked in turn. */
async function inTurn(urls: readonly string[]): Promise<string> {
  let asked = 0
  const server = createServer((req, res) => {
    const to = new URL(req.url!, urls[asked++ % urls.length])
    const onward = request(to, { method: req.method, headers: req.headers }, answer => {
      res.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(res)
    })
    req.pipe(onward)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  closing({ close: () => void server.close() })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

it('processes take from the same balances, and buy again one at a time', async () => {
  let runs = 0
  const work = defineEndpoint({
    name: 'work',
    price: '$0.01',
    handler({ charge }) {
      charge(`$0.00${1 + (runs++ % 9)}`)
      return { runs }
    },
  })
  const about = { balance: { amounts: ['$0.05'], period: '1h' } }
  const sellers = await openReplicas(2, [work], { redisUrl: redis.url, about })
  const { sandbox } = sellers[0]!
  const url = await inTurn(sellers.map(seller => seller.url))
  const { mnemonic } = sandbox.accounts('a budget of two processes')
  const shared = {
    mnemonic,
    network: 'testnet',
    algodUrl: sandbox.algodUrl,
    maxPrice: '$0.01',
    maxPerDay: '$1',
  } as const
  const stores = closing(redisStores(redis.url, PATIENT))
  const received = () => sandbox.balance(sandbox.seller.address).usdc!
  await new SvcClient({ ...shared, ledger: stores.spend }).topUp(url, '$0.05')
  expect(received()).toBe(50_000n)

  const topUp = { below: '$0.02', amount: '$0.05' }
  const given = { ...shared, topUp, url: `${url}/work`, calls: 20, redisUrl: redis.url }
  const buyers = await Promise.all([1, 2].map(() => run(process.execPath, [SCRIPT, JSON.stringify(given)])))
  const outcomes = buyers.flatMap(({ stdout }) =>
    stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line)),
  )
  expect(outcomes.filter(outcome => !/^200( \d000)?$/.test(outcome))).toEqual([])
  // A call whose balances are short while another process buys pays for itself.
  const alone = 10_000 * outcomes.filter(outcome => outcome === '200').length
  expect([outcomes.length, runs]).toEqual([40, 40])

  const ended = sellers.flatMap(seller => seller.ended)
  const used = ended.reduce((sum, { units }) => sum + (units?.used ?? 0), 0)
  expect(outcomes.reduce((sum, outcome) => sum + Number(outcome.slice(4)), 0)).toBe(used)
  expect(new Set(sellers.map(seller => seller.ended.some(({ final }) => final === 'counted')))).toEqual(
    new Set([true]),
  )
  // Each purchase was needed: what is left is less than a balance of each process and the mark below which another is bought.
  const left = Number(received()) - alone - used
  expect(left).toBeGreaterThanOrEqual(0)
  expect(left).toBeLessThan(120_000)
  // The sellers' store agrees: the balances that the ledger holds have just as much.
  const ledger = JSON.parse(await stores.spend.balances!())
  const keys = Object.values<{ balances: { key: string }[] }>(ledger).flatMap(({ balances }) =>
    balances.map(({ key }) => key),
  )
  const asked = keys.map(async (key, at) => {
    const headers = { 'x-svc-balance-key': key, 'idempotency-key': `what-is-left-${at}` }
    const free = await fetch(`${url}/work`, {
      method: 'POST',
      body: '{}',
      headers: { ...headers, 'content-type': 'application/json' },
    })
    return Number(free.headers.get('x-svc-balance')) + Number(free.headers.get('x-svc-charged') ?? 0)
  })
  expect((await Promise.all(asked)).reduce((a, b) => a + b, 0)).toBe(left)
  expect(received()).toBe(BigInt(keys.length * 50_000 + alone))
})
