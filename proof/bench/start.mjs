/** What a process takes to start: to import a package, and to answer its first request with 402. Each round is a new process. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { inMarket } from './market.mjs'
import { measure } from './process.mjs'
import { BODY } from './rows.mjs'
import { markdown, median, number, spread } from './table.mjs'

const built = path => fileURLToPath(new URL(`../../dist/lib/${path}`, import.meta.url))
const contenderOf = name => fileURLToPath(new URL(`contenders/${name}.mjs`, import.meta.url))

const OFFICIAL_SERVER = ['@x402/express', '@x402/core/server', '@x402/avm/exact/server', 'express']
const OFFICIAL_CLIENT = ['@x402/fetch', '@x402/avm/exact/client', '@x402/avm']

/** `bar` is for the clock in milliseconds, and for memory in MB. */
const CONTENDERS = [
  { name: 'Node alone', once: importing([]) },
  { name: "`import('@svc/sdk')`", once: importing([built('index.js')]), bar: { wallMs: 300, memoryMb: 70 } },
  { name: '`@svc/sdk` in one file by esbuild', once: bench => importing([bench.inOneFile.sdk])() },
  { name: '`@x402/express` and `@x402/avm`', once: importing(OFFICIAL_SERVER) },
  { name: "`import('@svc/sdk/client')`", once: importing([built('client.js')]), bar: { wallMs: 150 } },
  { name: '`@x402/fetch` and `@x402/avm`', once: importing(OFFICIAL_CLIENT) },
  { name: 'the first 402 of ours', once: firstAnswer(() => 'first') },
  {
    name: 'the first 402 of ours, in one file by esbuild',
    once: firstAnswer(bench => bench.inOneFile.first),
  },
  { name: 'the first 402 of `@x402/express`', once: firstAnswer(() => 'express') },
]

export async function start(bench) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-'))
  try {
    const sdk = await bundled(built('index.js'), join(folder, 'sdk.cjs'))
    const first = await bundled(contenderOf('first'), join(folder, 'first.cjs'))
    return await inTurn({ ...bench, inOneFile: { sdk, first } })
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** One file, as docs/guides/go-to-production.md says. */
async function bundled(entry, outfile) {
  await build({ entryPoints: [entry], outfile, bundle: true, platform: 'node', logLevel: 'error' })
  return outfile
}

async function inTurn(bench) {
  const found = CONTENDERS.map(({ name, bar }) => ({ name, bar, rounds: [] }))
  // The first round fills the machine's cache of files.
  for (let round = -1; round < bench.rounds; round++) {
    for (const [which, { name, once }] of CONTENDERS.entries()) {
      const took = await once(bench)
      process.stderr.write(`  ${name}: ${Math.round(took.cpuMs)} ms\n`)
      if (round >= 0) found[which].rounds.push(took)
    }
  }
  return found
}

function importing(imports) {
  return () => measure('start', { imports })
}

/** From before the process is there until its answer is read. */
function firstAnswer(contender) {
  return bench =>
    inMarket(bench, async market => {
      const startedMs = performance.now()
      const server = await market.start(contender(bench))
      const { status } = await fetch(`${server.url}/work`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(BODY),
      }).then(async response => ({ status: response.status, text: await response.text() }))
      if (status !== 402) throw new Error(`the first answer of ${contender(bench)} was ${status}`)
      return { ...(await server.taken()), wallMs: performance.now() - startedMs }
    })
}

export function startTableOf([found]) {
  const heads = ['', 'time', 'CPU', 'of rounds', 'more than Node alone', 'memory', 'bar', '']
  const of = (rounds, figure) => rounds.map(took => took[figure])
  const bare = median(of(found[0].rounds, 'cpuMs'))
  return markdown(
    heads,
    found.map(({ name, bar, rounds }) => {
      const [wallMs, cpuMs, memoryMb] = ['wallMs', 'cpuMs', 'memoryMb'].map(figure =>
        median(of(rounds, figure)),
      )
      const isMet = bar && wallMs <= bar.wallMs && memoryMb <= (bar.memoryMb ?? Number.POSITIVE_INFINITY)
      return [
        name,
        `${number(wallMs)} ms`,
        `${number(cpuMs)} ms`,
        spread(of(rounds, 'cpuMs'), number),
        name === found[0].name ? '' : `${number(cpuMs - bare)} ms`,
        `${number(memoryMb)} MB`,
        bar ? [`≤ ${bar.wallMs} ms`, ...(bar.memoryMb ? [`${bar.memoryMb} MB`] : [])].join(', ') : '',
        bar ? (isMet ? 'met' : 'MISSED') : '',
      ]
    }),
  )
}
