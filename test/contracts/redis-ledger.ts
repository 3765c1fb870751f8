/** What the spend ledger on Redis keeps, for how long, and how much of it at most. */
import { expect } from 'vitest'
import { OPEN_MAX, redisSpendLedger } from '../../src/adapters/redis/spend-ledger.js'
import type { SpendPayment } from '../../src/ports/spend-ledger.js'
import type { TestRunner } from '../../src/testing.js'
import type { VirtualRedis } from '../support/redis-virtual.js'

const WINDOW_MS = 86_400_000
const LIFE_MS = 3_600_000
/** The end of a key is told by the server's real clock, which goes on while a test looks: half of what it waits between two moves. */
const LOOKING_MS = 30_000

export function redisLedger({ describe, it }: TestRunner, redis: () => VirtualRedis): void {
  const payment = { network: 'testnet', txId: 'A'.repeat(52), firstValid: 1n, lastValid: 9n } as const
  const elsewhere = { ...payment, network: 'mainnet' } as const
  const ofOurOwn = { ...payment, network: 'algorand:kUt08LxeVAAG-nh4JoAoAMM9_l_hBwSo' } as const

  async function ledgers() {
    const world = await redis().world()
    const options = { budget: 'wallet', windowMs: WINDOW_MS, lifeMs: LIFE_MS }
    const place = `${world.prefix}{spend:wallet}`
    const ledger = redisSpendLedger(world.connection, world.prefix, options)
    const opened = async (id: string, of: SpendPayment = payment) => {
      await ledger.reserve({ id, amount: 5n }, undefined)
      return ledger.attach(id, of)
    }
    const names = async () => (await world.keys()).map(key => key.split('}:')[1])
    return { world, ledger, place, opened, names }
  }

  describe('what Redis keeps of a budget', () => {
    it('is there for a window and a payment’s life after each move', async () => {
      const { world, ledger, place, opened } = await ledgers()
      const moves = [
        () => ledger.reserve({ id: 'reserved', amount: 1n }, undefined),
        () => opened('open'),
        () => ledger.settle('open', 'spent'),
      ]
      for (const move of moves) {
        await move()
        for (const key of await world.keys()) {
          const lifeMs = await redis().client.pttl(world.prefix + key)
          expect(lifeMs, key).toBeLessThanOrEqual(WINDOW_MS + LIFE_MS)
          expect(lifeMs, key).toBeGreaterThan(WINDOW_MS + LIFE_MS - LOOKING_MS)
        }
        await world.advance(60_000)
      }
      await opened('another')
      await world.advance(60_000)
      await ledger.reserve({ id: 'attached alone', amount: 1n }, undefined)
      await world.advance(60_000)
      await ledger.attach('attached alone', payment)
      for (const name of ['entries', 'amounts', 'payments', 'due:testnet']) {
        const lifeMs = await redis().client.pttl(`${place}:${name}`)
        expect(lifeMs, name).toBeGreaterThan(WINDOW_MS + LIFE_MS - LOOKING_MS)
      }
    })

    it('is nothing but what it counts', async () => {
      for (const of of [payment, elsewhere, ofOurOwn]) {
        const { ledger, place, opened, names } = await ledgers()
        await opened('dead', of)
        await ledger.settle('dead', 'dead')
        expect(await names()).toEqual(['amounts'])
        await opened('spent', of)
        await ledger.settle('spent', 'spent')
        expect(await names()).toEqual(['amounts', 'entries'])
        expect(Object.keys(await redis().client.hgetall(`${place}:amounts`))).toHaveLength(2)
        expect(await redis().client.zcard(`${place}:entries`)).toBe(1)
      }
    })

    it('forgets a payment of a network that the closing process has not met, when it is next looked for', async () => {
      const { world, ledger, place, opened } = await ledgers()
      await opened('theirs', ofOurOwn)
      const stranger = redisSpendLedger(world.connection, world.prefix, { budget: 'wallet' })
      await stranger.settle('theirs', 'dead')
      expect(stranger.spentBaseUnits).toBe(0n)
      expect(await redis().client.zcard(`${place}:due:${ofOurOwn.network}`)).toBe(1)
      expect(await ledger.due(ofOurOwn.network, 100n, 10)).toEqual([])
      expect(await redis().client.exists(`${place}:due:${ofOurOwn.network}`)).toBe(0)
    })

    it('may hold what is no row of its own: it is not asked about, and cleared away', async () => {
      const { ledger, place, opened } = await ledgers()
      await opened('good')
      const { client } = redis()
      await client.zadd(`${place}:due:testnet`, '1', 'reserved:unknown', '1', 'reserved:uncounted')
      await client.hset(`${place}:payments`, 'reserved:uncounted', 'testnet')
      expect(await ledger.due('testnet', 100n, 10)).toEqual([{ id: 'good', amount: 5n, payment }])
      expect(await client.zrange(`${place}:due:testnet`, '0', '-1')).toEqual(['reserved:good'])
      await client.hset(`${place}:payments`, 'reserved:uncounted', 'testnet')
      await ledger.settle('uncounted', 'spent')
      expect(ledger.spentBaseUnits).toBe(5n)
    })

    it(`is ${OPEN_MAX} open payments at most: beyond it the first due counts as spent`, async () => {
      const { ledger, place, opened } = await ledgers()
      await opened('first due', { ...payment, lastValid: 1n })
      const fill = `for at = 1, ${OPEN_MAX - 2} do redis.call('ZADD', KEYS[1], 5, 'filler:' .. at) end`
      await redis().client.eval(fill, 1, `${place}:due:testnet`)
      const firstDue = async () => (await ledger.due('testnet', 5n, 1)).map(({ id }) => id)
      await opened('the last that fits')
      expect(await firstDue()).toEqual(['first due'])
      await opened('one more')
      expect(await firstDue()).toEqual([])
      await ledger.settle('first due', 'dead')
      expect(ledger.spentBaseUnits).toBe(15n)
    })
  })
}
