/**
 * How long a caller waits for the first event of a stream: of one that is paid for, and of a plain one with the paid call beside it.
 * One connection asks, so that nothing waits in a queue.
 */
import { connect } from 'node:net'
import { isWhole, post } from './load.mjs'
import { inMarket } from './market.mjs'
import { paymentHeader, quoteOf } from './payments.mjs'
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
    const streamed = await payerOf(market, ours, '/stream')
    const answered = await payerOf(market, ours, '/work')
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

/** The bytes of the next paid request. */
async function payerOf(market, server, path) {
  const quote = await quoteOf(server.url, path, BODY)
  const pool = market.payments(quote)
  let used = 0
  return async () => {
    const payments = await pool(used + 1)
    const payment = paymentHeader(payments[used++], quote)
    return post(server.url, path, BODY, { 'PAYMENT-SIGNATURE': payment })
  }
}

/** One keep-alive connection. Both functions resolve when the answer is over, to the milliseconds until what they are named for. */
async function openTo({ url }) {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname).setNoDelay(true).setEncoding('latin1')
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  const exchange = (request, hasCome) =>
    new Promise((resolve, reject) => {
      const start = performance.now()
      let kept = ''
      let ms
      const onData = chunk => {
        kept += chunk
        if (kept.slice(9, 12) !== '200') return reject(new Error(`not answered:\n${kept}`))
        if (hasCome(kept)) ms ??= performance.now() - start
        if (!isWhole(kept)) return
        socket.off('data', onData)
        resolve(ms)
      }
      socket.on('data', onData)
      socket.write(request)
    })
  return {
    first: request => exchange(request, text => text.includes('data: ')),
    whole: request => exchange(request, isWhole),
    close: () => socket.destroy(),
  }
}
