/** What 100,000 records of a kind add to `used_memory`, kept through the moves that a server makes. */
import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { redisStores } from '@svc/sdk/redis'
import { endpointOwner, ownerOf } from '../../../dist/src/app/charge/names-in-stores.js'
import { seal } from '../../../dist/src/app/charge/seal-answers.js'
import { TESTNET } from '../../../dist/src/domain/network.js'
import { perMinute } from '../../../dist/src/ports/counters.js'
import { systemRandom } from '../../../dist/src/ports/random.js'
import { inMarket } from '../market.mjs'
import { markdown, median, number } from '../table.mjs'

const RECORDS = 100_000
const AT_ONCE = 256
const SAMPLED = 1_000

const LEASE_MS = 60_000
const WINDOW_MS = 600_000
const PAYMENT_TTL_MS = 4_000_000

const hash = () => randomBytes(32).toString('base64url')
const base32 = length =>
  Array.from(randomBytes(length), byte => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'[byte & 31]).join('')
const address = () => base32(58)

/** As `/work` leaves one, with a body that makes it 500 bytes. */
const answer = sealedOf(500)

function sealedOf(length) {
  const body = bytes => ({
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: Buffer.alloc(bytes),
  })
  const of = bytes =>
    seal(
      { answer: body(bytes), txId: base32(52), payer: address(), amount: '10000', asset: '10458941' },
      'key',
      'claim',
      systemRandom,
    )
  return of(length - of(0).length)
}

const payment = () => ({ slot: address(), token: randomUUID(), payment: base32(52) })
const claim = () => ({ ...payment(), claim: { name: hash(), bodyHash: hash() } })

async function held({ charges }, hold) {
  await charges.open({ ...hold, leaseMs: LEASE_MS })
}

async function completed({ charges }, hold) {
  await held({ charges }, hold)
  const recorded = {
    answer: hold.claim ? answer : new Uint8Array(),
    payment: { txId: hold.payment, firstValid: 50_000_000n, lastValid: 50_000_100n },
  }
  const lives = { leaseMs: LEASE_MS, paymentTtlMs: PAYMENT_TTL_MS, claimTtlMs: PAYMENT_TTL_MS + WINDOW_MS }
  await charges.record({ ...hold, recorded, ...lives })
  await charges.close({ ...hold, how: 'complete', retentionMs: WINDOW_MS })
}

const ENDPOINT = endpointOwner(ownerOf(TESTNET, address(), 'agent'), 'work')

const KINDS = {
  'a window': ({ subscriptions }) =>
    subscriptions.putIfAbsent(hash(), { endpoint: 'window', expiresAtMs: Date.now() + 2_592_000_000 }),
  'a held claim and its payment': stores => held(stores, claim()),
  [`a completed claim, its sealed answer of ${answer.length} bytes and its spent payment`]: stores =>
    completed(stores, claim()),
  'a spent payment without a key': stores => completed(stores, payment()),
  'a counter of a rate limit': ({ rateLimit }) =>
    rateLimit.take(`${ENDPOINT}payer:${address()}`, perMinute(100)),
}

export async function bytes(bench) {
  const found = []
  for (const [name, keep] of Object.entries(KINDS)) {
    process.stderr.write(`  ${name}\n`)
    found.push({ name, ...(await inMarket(bench, async market => bytesOf(await market.redis(), keep))) })
  }
  return found
}

async function bytesOf({ url, admin, memoryBytes }, keep) {
  const stores = redisStores(url)
  // The first loads the scripts, which are kept once.
  await keep(stores)
  const keys = await admin.dbsize()
  const before = await atRest(memoryBytes)
  let left = RECORDS
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (left-- > 0) await keep(stores)
    }),
  )
  const after = await atRest(memoryBytes)
  if ((await admin.dbsize()) !== keys * (RECORDS + 1)) throw new Error('a record ended before it was weighed')
  const named = await usageOf(admin)
  await stores.close()
  return { keys, bytes: (after - before) / RECORDS, named }
}

/** Redis grows its tables, and shrinks its buffers, for a moment after the last command. */
async function atRest(memoryBytes) {
  for (let last = await memoryBytes(); ; ) {
    await sleep(500)
    const now = await memoryBytes()
    if (Math.abs(now - last) < 1_000) return now
    last = now
  }
}

/** `MEMORY USAGE` of some, the median of each kind of key, added up: without what the tables of all keys take. */
async function usageOf(admin) {
  const [, keys] = await admin.scan('0', 'COUNT', SAMPLED)
  const kinds = new Map()
  for (const key of keys) {
    // The list of a payer's answers has its kind at its end.
    const kind = key.endsWith(':kept') ? 'kept' : key.split(':').at(-2)
    const size = await admin.memory('USAGE', key, 'SAMPLES', 0)
    kinds.set(kind, [...(kinds.get(kind) ?? []), size])
  }
  return [...kinds.values()].map(median).reduce((sum, size) => sum + size)
}

export function bytesTableOf([found]) {
  const heads = ['', 'keys', 'bytes of `used_memory` each', 'by `MEMORY USAGE`']
  const lines = found.map(({ name, keys, bytes, named }) => [name, keys, number(bytes), number(named)])
  return markdown(heads, lines)
}
