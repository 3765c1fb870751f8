/** Clients, each a process, that make 1,000 paid calls at a time at a seller that answers at once. */
import { inMarket } from './market.mjs'
import { quoteOf, SECRET_KEY } from './payments.mjs'
import { BODY } from './rows.mjs'

const CALLS = { calls: 1_000, concurrency: 32 }
/** The first thousands of calls belong to the compiler. */
const WARM_UP_ROUNDS = 6

const CLIENTS = [
  { name: 'ours', file: 'client-ours' },
  { name: '@x402/fetch', file: 'client-official' },
]

export function calling(bench) {
  return inMarket(bench, async market => {
    const { header: _, ...quote } = await quoteOf((await market.start('ours')).url, '/work', BODY)
    const seller = await market.start('seller', { quote })
    const place = {
      url: `${seller.url}/work`,
      body: BODY,
      algodUrl: bench.facilitator.url,
      secretKey: SECRET_KEY,
    }
    const contenders = []
    for (const { name, file } of CLIENTS) {
      const client = await market.start(file, place)
      contenders.push({ name, client, rounds: [], cpuUs: [] })
    }
    for (let round = -WARM_UP_ROUNDS; round < bench.rounds; round++) {
      for (const { name, client, rounds, cpuUs } of contenders) {
        const took = await client.tell(CALLS)
        process.stderr.write(`  ${name}: ${Math.round(took.rate)}/s\n`)
        if (round < 0) continue
        rounds.push(took.rate)
        cpuUs.push(took.cpuUs)
      }
    }
    const title = '1,000 paid calls, 32 at a time, of one client'
    return { title, unit: '/s', contenders: contenders.map(({ client: _, ...found }) => found) }
  })
}
