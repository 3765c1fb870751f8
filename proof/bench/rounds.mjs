/** Rounds in turn, A B C D A B C D …: what else the machine does in the meantime meets all of them. */
import { load } from './load.mjs'
import { inMarket } from './market.mjs'

/** Both, for each of a contender's processes, and discarded: the first thousands of calls belong to the compiler. */
const WARM_UP_ANSWERS = 4_000
const WARM_UP_SECONDS = 2

/** @param open a row, as `rows.mjs` has them */
export function inTurn(open, bench) {
  return inMarket(bench, async market => {
    const { title, expects, contenders } = await open(market)
    const once = contender => round(contender, expects, bench)
    for (const contender of contenders) await warmUp(contender, once)
    const found = contenders.map(({ name, bar, cpuBar }) => ({
      name,
      bar,
      cpuBar,
      rounds: [],
      cpuUs: [],
      redisUs: [],
      besideUs: [],
      mainUs: [],
      commands: [],
    }))
    for (let at = 0; at < bench.rounds; at++) {
      for (const [which, contender] of contenders.entries()) {
        const { rate, ...used } = await once(contender)
        found[which].rounds.push(rate)
        for (const what of ['cpuUs', 'redisUs', 'besideUs', 'mainUs', 'commands'])
          found[which][what].push(used[what])
      }
    }
    return { title, unit: '/s', contenders: found }
  })
}

async function warmUp(contender, once) {
  const processes = contender.server.urls.length
  let total = 0
  for (let spent = 0; total < WARM_UP_ANSWERS * processes || spent < WARM_UP_SECONDS * processes; ) {
    const { answers, took } = await once(contender)
    total += answers
    spent += took
  }
}

/** Microseconds of CPU are of one answer: the servers', its Redis's, and what the facilitator and this process took. */
async function round({ name, server, redis, requests }, expects, bench) {
  const { next, ended } = await requests()
  const beside = async () => (await bench.facilitator.cpuUs()) + ownCpuUs()
  const clocks = async () => {
    const { mainUs = 0, commands = 0 } = (await redis?.work?.()) ?? {}
    return [await server.cpuUs(), (await redis?.cpuUs()) ?? 0, await beside(), mainUs, commands]
  }
  const before = await clocks()
  const { answers, seconds: took, busy } = await load(server.urls, next, { seconds: bench.seconds, expects })
  const used = (await clocks()).map((us, at) => (us - before[at]) / answers)
  ended()
  bench.busiest = Math.max(bench.busiest, busy)
  process.stderr.write(`  ${name}: ${Math.round(answers / took)}/s\n`)
  const [cpuUs, redisUs, besideUs, mainUs, commands] = used
  return { answers, took, rate: answers / took, cpuUs, redisUs, besideUs, mainUs, commands }
}

function ownCpuUs() {
  const { user, system } = process.cpuUsage()
  return user + system
}
