/** Two `svc sell` over one Redis: what one of them sold, the other one knows. Without their Redis they take no calls, and live on. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { listen } from '../support/listen.js'
import { type RedisServer, startRedis } from '../support/redis-server.js'
import { ask, signFor } from '../support/seller.js'
import { hear, start } from './run.js'

let sandbox: Sandbox
let redis: RedisServer
beforeAll(async () => {
  ;[sandbox, redis] = await Promise.all([startSandbox(), startRedis()])
})
afterAll(() => Promise.all([sandbox.close(), redis.stop()]))

it('replays at one replica what the other one sold, and sells a payment once', async () => {
  let asked = 0
  const upstream = await listen((_, res) => res.end(`answer ${++asked}`))
  const env = { SVC_SANDBOX: sandbox.url, SVC_PAY_TO: sandbox.seller.address, REDIS_URL: redis.url }
  const replica = async () => {
    const child = start(['sell', upstream, '--price', 'POST /v1/*=$0.01', '--port', '0', '--json'], env)
    const heard = hear(child)
    const [, url] = await heard.until(/"url":"([^"]+)"/)
    return { url: url!, child, ended: heard.ended }
  }
  const [one, other] = await Promise.all([replica(), replica()])
  const path = '/v1/chat'
  const before = sandbox.balance(sandbox.seller.address).usdc!
  const payment = await signFor({ sandbox } as never, one.url + path, { body: { a: 1 } })
  const headers = { ...payment, 'idempotency-key': 'a-random-key-that-no-stranger-guesses' }
  const sold = await ask(one.url + path, { body: { a: 1 }, headers })
  expect([sold.status, await sold.text()]).toEqual([200, 'answer 1'])
  const again = await ask(other.url + path, { body: { a: 1 }, headers })
  expect([again.status, again.headers.get('idempotency-replayed'), await again.text()]).toEqual([
    200,
    'true',
    'answer 1',
  ])
  expect((await ask(other.url + path, { body: { a: 2 }, headers: payment })).status).toBe(409)
  expect([asked, sandbox.balance(sandbox.seller.address).usdc! - before]).toEqual([1, 10_000n])

  await redis.kill()
  const conditions = await Promise.all(['/health', '/ready'].map(path => fetch(one.url + path)))
  expect(conditions.map(({ status }) => status)).toEqual([200, 503])
  expect(await conditions[1]!.json()).toMatchObject({ why: [{ code: 'store_unavailable' }] })
  await redis.start()
  for (const { child } of [one, other]) child.kill('SIGTERM')
  expect(await Promise.all([one.ended, other.ended])).toEqual([0, 0])
})
