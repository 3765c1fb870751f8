/** `svc sell` as its users run it: a file, play money, a change of the file, and what it says where it cannot. */
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listen } from '../support/listen.js'
import { challengeIn } from '../support/seller.js'
import { hear, start, svc } from './run.js'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-sell-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const written = (name: string, terms: unknown) => {
  writeFileSync(join(folder, name), typeof terms === 'string' ? terms : JSON.stringify(terms))
  return name
}

describe('svc sell', () => {
  it('sells by its file, for play money, and by the file as it changes', async () => {
    const upstream = await listen((req, res) =>
      res.end(`${req.method} ${req.url} for ${req.headers['x-svc-payer']}`),
    )
    const terms = (price: string) => ({
      $schema: './node_modules/@svc/sdk/docs/svc.sell.schema.json',
      upstream,
      routes: [
        { route: 'POST /v1/*', price, description: 'Any of them', tags: ['test'] },
        { route: 'GET /health', free: true },
      ],
    })
    // As a ConfigMap is mounted: the file is a link into a folder that is a link, and that one is replaced.
    const mount = (version: string, price: string) => {
      mkdirSync(join(folder, version))
      written(`${version}/svc.sell.json`, terms(price))
      symlinkSync(version, join(folder, '..next'))
      renameSync(join(folder, '..next'), join(folder, '..data'))
    }
    mount('first', '$0.01')
    symlinkSync('..data/svc.sell.json', join(folder, 'svc.sell.json'))
    const selling = ['sell', '--sandbox', '--port', '0', '--balance', '$0.05,$1']
    const child = start(selling, {}, { cwd: folder })
    const heard = hear(child)
    const [, url] = await heard.until(/^Selling \S+ on (\S+), paid to [A-Z2-7]{58}$/m)
    await heard.until(/POST \/v1\/\* {2}\$0\.01\n {2}GET \/health {2}free/)
    const [, sandbox] = await heard.until(/export SVC_SANDBOX=(\S+)/)
    const [, mnemonic] = await heard.until(/export SVC_MNEMONIC='([^']+)'/)
    const env = { SVC_SANDBOX: sandbox!, SVC_MNEMONIC: mnemonic! }
    const paid = await svc(['call', `${url}/v1/x?a=1`, '--body', '{}', '--max-price', '0.01'], env)
    expect([paid.code, paid.stdout]).toEqual([
      0,
      expect.stringMatching(/^POST \/v1\/x\?a=1 for [A-Z2-7]{58}/),
    ])
    await heard.until(/POST \/v1\/\*rest 200, charged \$0\.01/)
    const SVC_BALANCES = join(folder, 'balances.json')
    const bought = await svc(['balance', url!, '--buy', '0.05'], { ...env, SVC_BALANCES })
    expect(bought).toMatchObject({ code: 0, stdout: expect.stringMatching(/left +\$0\.05/) })
    await heard.until(/POST \/balance 200, charged \$0\.05/)
    const key = /"key":"(svc_[^"]+)"/.exec(readFileSync(SVC_BALANCES, 'utf8'))![1]!
    const headers = { 'x-svc-balance-key': key, 'idempotency-key': 'a-call-on-a-balance' }
    const taken = await fetch(`${url}/v1/x`, { method: 'POST', headers })
    expect([taken.status, taken.headers.get('x-svc-charged')]).toEqual([200, '10000'])
    await heard.until(/POST \/v1\/\*rest 200, taken from a balance/)
    expect(await (await fetch(`${url}/health`)).text()).toBe('GET /health for undefined')
    // Whoever asks for a price learns no address of the seller's network.
    const manifest = await fetch(`${url}/.well-known/agent.json`)
    for (const said of [
      await manifest.text(),
      JSON.stringify(await challengeIn(await fetch(`${url}/v1/x`, { method: 'POST' }))),
    ])
      expect(said).not.toMatch(new RegExp(`[:-]${new URL(upstream).port}`))
    const refused = await fetch(`${url}/other`)
    expect([refused.status, await refused.json()]).toMatchObject([404, { error: { code: 'not_found' } }])
    const quoted = async () => challengeIn(await fetch(`${url}/v1/x`, { method: 'POST' })).accepts[0]!.amount
    mount('second', '$0.02')
    await heard.until(/was read again/)
    expect(await quoted()).toBe('20000')
    written('svc.sell.json', '{')
    await heard.until(/svc\.sell\.json: it is not JSON; the terms stay as they were/)
    expect(await quoted()).toBe('20000')
    child.kill('SIGHUP')
    await heard.until(/the terms stay as they were/)
    child.kill('SIGTERM')
    expect(await heard.ended).toBe(0)
  })

  it.each<readonly [string, readonly string[], string]>([
    [
      'nothing is priced',
      ['http://127.0.0.1:9', '--pay-to', 'A'.repeat(58)],
      "Nothing has a price: give --price 'POST /v1/*=$0.01' (invalid_options)",
    ],
    [
      'nobody is paid',
      ['http://127.0.0.1:9', '--price', 'GET /a=$1'],
      'Name who is paid: --pay-to, or SVC_PAY_TO, or --sandbox (invalid_address)',
    ],
    [
      'there is no file',
      [],
      'Name the server that runs, or write svc.sell.json: svc sell --help has both (file_unusable)',
    ],
    [
      'a price is none',
      ['http://127.0.0.1:9', '--price', 'GET /a'],
      "It is METHOD /path=price, such as 'POST /v1/*=$0.01'.",
    ],
    [
      'the path of a server would take the place of each route’s',
      ['http://127.0.0.1:9/api', '--pay-to', 'A', '--price', 'GET /a=$1'],
      "The route 'GET /a': the path of its server's URL would replace the route's own: give the origin alone (invalid_options)",
    ],
    [
      'a route is none',
      ['http://127.0.0.1:9', '--pay-to', 'A', '--price', '/a=$1'],
      "The route '/a': it is METHOD /path, such as 'POST /v1/*' (invalid_options)",
    ],
    [
      'a method is none',
      ['http://127.0.0.1:9', '--pay-to', 'A', '--price', 'FETCH /a=$1'],
      "The route 'FETCH /a': methods is of GET, POST, PUT, PATCH, DELETE, not 'FETCH' (invalid_options)",
    ],
    [
      'a file has a misspelt field',
      ['--file', 'misspelt.json'],
      'misspelt.json: /routes/0 must NOT have additional properties (/routes/0/prise) (invalid_options)',
    ],
  ])('says in one line that %s', async (_, args, why) => {
    const cwd = mkdtempSync(join(folder, 'empty-'))
    writeFileSync(
      join(cwd, 'misspelt.json'),
      JSON.stringify({ routes: [{ route: 'GET /a', price: '$1', prise: '$1' }] }),
    )
    const { code, stdout, stderr } = await svc(['sell', ...args], {}, { cwd })
    expect(stderr).toContain(why)
    expect(stderr.trim().split('\n')).toHaveLength(1)
    expect([code, stdout]).toEqual([2, ''])
  })
})
