/** Each template as a stranger gets it: `svc init`, `npm install`, its own tests, and a first paid call while it runs. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { FETCH_TIMEOUT_MS, NODE_20, NODE_24, nodeBinary } from '../cli/nodes.js'
import { hear, svc } from '../cli/run.js'

/** `npm install` of three small packages from the cache, a compilation, a few processes. */
const TIMEOUT_MS = 300_000

let place: string
const nodes: Record<string, string> = {}
beforeAll(async () => {
  place = mkdtempSync(join(tmpdir(), 'svc-templates-'))
  for (const version of [NODE_20, NODE_24]) nodes[version] = await nodeBinary(version)
}, FETCH_TIMEOUT_MS)
// Three folders of node_modules: on a busy machine that takes more than the usual ten seconds.
afterAll(() => rmSync(place, { recursive: true, force: true }), TIMEOUT_MS)

/** What a shell of somebody with this Node has; nothing of ours. */
function environment(version: string): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(SVC_|VITEST|NODE_|npm_lifecycle)/.test(name),
  )
  return {
    ...Object.fromEntries(kept),
    PATH: `${dirname(nodes[version]!)}${delimiter}${process.env.PATH}`,
    PORT: '0',
  }
}

function shell(line: string, cwd: string, version: string) {
  // A group of its own, as a terminal gives to every command: its Ctrl-C goes to all of the group.
  const child = spawn('sh', ['-c', `exec ${line}`], { cwd, env: environment(version), detached: true })
  const heard = hear(child)
  const interrupt = () => process.kill(-child.pid!, 'SIGINT')
  running.add(interrupt)
  void heard.ended.then(() => running.delete(interrupt))
  return { heard, interrupt }
}

const running = new Set<() => void>()
afterEach(() => {
  for (const interrupt of running) interrupt()
})

async function done(line: string, cwd: string, version: string): Promise<string> {
  const { heard } = shell(line, cwd, version)
  expect(await heard.ended, heard.text).toBe(0)
  return heard.text
}

const templates: [template: string, bought: RegExp][] = [
  ['basic', /"text": ?"hello"/],
  ['llm', /"text": ?"You asked: Why is the sky blue\?/],
  ['oracle', /"pair": ?"ALGO\/USD",\s*"price": ?"0\.2"/],
]

describe.each(templates)('the template %s', (template, bought) => {
  const folder = () => join(place, `my-${template}`)

  it(
    'installs, and passes its own tests on both Nodes',
    async () => {
      const made = await svc(['init', folder(), '--template', template], {}, { node: nodes[NODE_24]! })
      expect(made).toMatchObject({ code: 0 })
      await done('npm install --prefer-offline --no-audit --no-fund', folder(), NODE_20)
      expect(await done('npm test', folder(), NODE_20)).toMatch(/# fail 0/)
      const onCurrent = await done('node --test dist/test/agent.test.js', folder(), NODE_24)
      expect(onCurrent).toMatch(/fail 0/)
    },
    TIMEOUT_MS,
  )

  it(
    'runs as TypeScript on a sandbox, and the command that it prints pays',
    async () => {
      const { interrupt, heard } = shell('npm run dev', folder(), NODE_24)
      const [shown] = await heard.until(/Paste this[\s\S]*Ctrl-C stops it\./)
      const lines = shown.split('\n').filter(line => /^ {2}(export|npx)/.test(line))
      expect(lines).toHaveLength(3)
      const answer = await done(`sh -c '${lines.join('\n').replaceAll("'", "'\\''")}'`, folder(), NODE_24)
      expect(answer).toMatch(bought)
      expect(answer).toMatch(/transaction +[A-Z2-7]{52}/)
      const [, url = ''] = /svc call '?([^\s']+)/.exec(shown)!
      expect(await done(`npx --no svc quote --json ${url}`, folder(), NODE_24)).toContain(
        'payment-identifier',
      )
      interrupt()
      // npm ends by the signal itself; what counts is that nothing of ours is left.
      await heard.ended
      const [, sandboxUrl = ''] = /SVC_SANDBOX=(\S+)/.exec(shown)!
      await expect(fetch(sandboxUrl)).rejects.toThrow()
    },
    TIMEOUT_MS,
  )

  it('says what it lacks to sell for real', async () => {
    const { heard } = shell('node dist/src/index.js', folder(), NODE_20)
    expect(await heard.ended).toBe(1)
    expect(heard.text).toMatch(/^Set SVC_PAY_TO [^\n]+\n$/)
  })
})

it('a bought quote of the oracle is verified by its example, and a forged one is not', async () => {
  const folder = join(place, 'my-oracle')
  const script = `
    const { quoteSigner } = await import('./dist/src/signed-quote.js')
    const at = new Date().toISOString(), validUntil = new Date(Date.now() + 6e4).toISOString()
    console.log(JSON.stringify(quoteSigner().sign({ pair: 'ALGO/USD', price: '0.2', at, validUntil })))`
  const quote = JSON.parse(
    await done(`node --input-type=module -e '${script.replaceAll("'", "'\\''")}'`, folder, NODE_20),
  )
  for (const [price, verdict, code] of [
    ['0.2', 'good', 0],
    ['2.0', 'bad signature', 1],
  ] as const) {
    writeFileSync(join(folder, 'quote.json'), JSON.stringify({ ...quote, price }))
    const { heard } = shell(`npm run --silent verify ${quote.signer} < quote.json`, folder, NODE_20)
    expect(await heard.ended).toBe(code)
    expect(heard.text).toBe(`ALGO/USD ${price}: ${verdict}\n`)
  }
  for (const nothing of ['', 'null', '{"pair":"ALGO/USD"}']) {
    writeFileSync(join(folder, 'quote.json'), nothing)
    const { heard } = shell(`npm run --silent verify ${quote.signer} < quote.json`, folder, NODE_20)
    expect([await heard.ended, heard.text]).toEqual([1, 'no quote\n'])
  }
})
