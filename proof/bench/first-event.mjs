/**
 * How long a caller waits for the first event of a stream: of one that is paid for, and of a plain one with the paid call beside it.
 * One connection asks, so that nothing waits in a queue.
 */
import { post } from './load.mjs'
import { inMarket } from './market.mjs'
import { openTo } from './one-connection.mjs'
import { nextPaid } from './payments.mjs'
import { BODY } from './rows.mjs'
import { median } from './table.mjs'

const CALLS_A_ROUND = 150
/** The first hundreds of calls belong to the compiler. */
const WARM_UP_ROUNDS = 4

export function firstEvent(bench) {
  return inMarket(bench, async market => {
    const ours = await market.start('ours', { stream: true })
    const koa = await market.start('koa')
    const [toOurs, toKoa] = [await openTo(ours), await openTo(koa)]
    const { next: streamed } = await nextPaid(market, ours, '/stream', BODY)
    const { next: answered } = await nextPaid(market, ours, '/work', BODY)
    const contenders = [
      { name: 'ours, a paid stream', takes: async () => toOurs.first(await streamed()) },
      {
        name: 'a plain stream of Koa, and our paid call',
        takes: async () => {
          const streamMs = await toKoa.first(post(koa.url, '/stream', BODY))
          return streamMs + (await toOurs.whole(await answered()))
        },
        bar: 1,
      },
    ]
    const found = contenders.map(({ name, bar }) => ({ name, bar, rounds: [] }))
    for (let round = -WARM_UP_ROUNDS; round < bench.rounds; round++) {
      for (const [which, { takes }] of contenders.entries()) {
        const times = []
        for (let at = 0; at < CALLS_A_ROUND; at++) times.push((await takes()) * 1_000)
        if (round >= 0) found[which].rounds.push(median(times))
      }
    }
    toOurs.close()
    toKoa.close()
    return { title: 'first event of a stream', unit: 'µs', lessIsMore: true, contenders: found }
  })
}
