/** `svc machines` and `svc audit`, built and run as their users run them, against an agent that really sold something. */

import { once } from 'node:events'
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createMachine } from 'xstate'
import { algodClient } from '../../src/adapters/algorand/algod-and-indexer.js'
import { algorandPaymentSigner } from '../../src/adapters/algorand/sign-payment-group.js'
import { signingKey } from '../../src/adapters/algorand/signing-keys.js'
import { numberedLine } from '../../src/audit/journal/line-format.js'
import { TESTNET } from '../../src/domain/network.js'
import { defineEndpoint } from '../../src/index.js'
import { svc } from '../cli/run.js'
import { ask, challengeIn, openSeller, pay, type Seller } from '../support/seller.js'
import { callOn, pathTo } from './calls.js'

describe('svc machines', () => {
  it('lists the five', async () => {
    const { code, stdout } = await svc(['machines'])
    expect(code).toBe(0)
    expect(stdout).toContain('charge        42 states, 26 final, 97 moves\n')
    const names = JSON.parse((await svc(['machines', '--json'])).stdout).map(
      ({ name }: { name: string }) => name,
    )
    expect(names).toEqual(['charge', 'claim', 'payment', 'subscription', 'shutdown'])
  })

  it('proves their properties on every path, and says on how many', async () => {
    const { code, stdout } = await svc(['machines', '--prove'])
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^holds {2}charge +184 ways +the handler runs once, and only on credit after verification, or covered$/m,
    )
    expect(stdout).toMatch(/^holds {2}shutdown +5 states +every state is reached from the initial one$/m)
    expect(stdout).toMatch(
      /^holds {2}store +\d+ states +no order of 3 calls broke a money rule when last explored: one key, three payments, replay \(\d+ steps\)$/m,
    )
    expect(stdout).not.toContain('FAILS')
    expect((await svc(['machines', 'shutdown', '--prove'])).stdout).not.toContain('explored')
    const proofs = JSON.parse((await svc(['machines', 'charge', '--prove', '--json'])).stdout)
    expect(proofs.length).toBeGreaterThan(20)
    expect(proofs).not.toContainEqual(expect.objectContaining({ checked: 0 }))
  })

  it('lists every path with its status, its code and whether it charges', async () => {
    const { stdout } = await svc(['machines', 'charge', '--paths'])
    const lines = stdout.trimEnd().split('\n')
    expect(lines.at(-1)).toBe('292 paths')
    expect(lines.find(line => line.endsWith(' pricing.unpaid'))).toMatch(
      /^402 {2}charged no +payment_required +received/,
    )
    const paths = JSON.parse((await svc(['machines', 'charge', '--paths', '--json'])).stdout)
    expect(paths.filter(({ charged }: { charged: string }) => charged === 'yes')).toHaveLength(12)
    expect(await svc(['machines', 'claim', '--paths'])).toMatchObject({ code: 2, stdout: '' })
  })

  it('draws as Mermaid, as the committed SVG, and as JSON that xstate takes', async () => {
    const [mermaid, svg, json] = await Promise.all(
      ['mermaid', 'svg', 'json'].map(format => svc(['machines', 'charge', '--format', format])),
    )
    expect(mermaid!.stdout).toMatch(/^stateDiagram-v2\n {2}\[\*\] --> received\n/)
    expect(svg!.stdout).toBe(await readFile('docs/machines/charge.svg', 'utf8'))
    expect(createMachine(JSON.parse(json!.stdout)).id).toBe('charge')
  })

  it.each([
    ['an unknown machine', ['machines', 'carousel']],
    ['an unknown format', ['machines', 'charge', '--format', 'png']],
  ])('refuses %s as usage', async (_, args) => {
    expect(await svc(args)).toMatchObject({ code: 2, stdout: '' })
  })
})

describe('svc audit', () => {
  const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({ done: true }) })
  const PERIOD = ['--from', '2020-01-01', '--to', '2120-01-01']
  let folder: string
  let seller: Seller
  let env: Record<string, string>
  let lines: readonly string[]

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-audit-'))
    seller = await openSeller([work], { journal: join(folder, 'runs.jsonl'), audit: true })
    env = { SVC_SANDBOX: seller.sandbox.url }
    for (let times = 0; times < 3; times++) {
      expect((await pay(seller, `${seller.url}/work`, { body: {} })).status).toBe(200)
    }
    await ask(`${seller.url}/work`, { body: {} })
  })
  afterAll(async () => {
    await seller.close()
    await rm(folder, { recursive: true, force: true })
  })

  /** The journal as it would be if somebody had tampered with it, or a disk had. */
  async function journalWith(change: (lines: string[]) => string[]): Promise<string> {
    const path = join(folder, `changed-${Math.random().toString(36).slice(2)}.jsonl`)
    lines ??= await written()
    await writeFile(path, change([...lines]).join('\n'))
    return path
  }

  async function written(): Promise<string[]> {
    const charges = seller.ended.filter(({ charged }) => charged === 'yes').length
    const complete = (text: string) => text.split('\n').length === charges + 2
    await expect.poll(async () => complete(await readFile(join(folder, 'runs.jsonl'), 'utf8'))).toBe(true)
    return (await readFile(join(folder, 'runs.jsonl'), 'utf8')).split('\n')
  }

  const settled = (all: readonly string[]) => all.findIndex(line => line.includes('"final":"settled"'))

  it('finds nothing in an honest journal, and sums it up by day and endpoint', async () => {
    const { code, stdout, stderr } = await svc(['audit', await journalWith(same => same), ...PERIOD], env)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^runs {8}3, on 1 distinct paths$/m)
    expect(stdout).toMatch(/^\d{4}-\d\d-\d\d {2}work {2}3 calls, 3 charged, \$0\.03$/m)
    expect(stdout).toContain('Nothing differs.')
  })

  it('does not say that nothing differs while a payment in doubt may still land, and says until when', async () => {
    const doubtful = (startedMs: number) => {
      const { payer: _, ...call } = callOn(pathTo('inDoubt', []), 'inDoubt')
      const run = { ...call, txId: 'D'.repeat(52), endpoint: 'work', startedMs }
      return journalWith(all => {
        const next = JSON.parse(all.at(-2)!).n + 1
        return [...all.slice(0, -1), numberedLine(next, JSON.stringify(run)).trimEnd(), '']
      })
    }
    const anHourMs = 3_600_000
    const recent = await svc(['audit', await doubtful(Date.now()), ...PERIOD], env)
    expect(recent.stdout).toContain(', 1 in doubt')
    expect(recent.stdout).toMatch(
      /so far: payments in doubt may still land\. Audit again after \d{4}-.*Z\.$/m,
    )
    const old = await svc(['audit', await doubtful(Date.now() - 2 * anHourMs), ...PERIOD], env)
    expect(old.stdout).not.toContain('in doubt')
  })

  it('reads journals alone where a shell names all of their folder, audited or not', async () => {
    const beside = await mkdtemp(join(folder, 'journals-'))
    const journal = join(beside, 'runs.jsonl')
    await copyFile(await journalWith(same => same), journal)
    await mkdir(`${journal}.lock`)
    for (let time = 1; time <= 2; time++) {
      const all = (await readdir(beside)).map(name => join(beside, name))
      expect(await svc(['audit', ...all, ...PERIOD], env)).toMatchObject({ code: 0, stderr: '' })
      expect((await readdir(beside)).sort()).toEqual(['runs.jsonl', 'runs.jsonl.audited', 'runs.jsonl.lock'])
    }
    const { code, stderr } = await svc(['audit', beside, ...PERIOD], env)
    expect([code, stderr]).toEqual([2, `svc: ${beside} is no file (file_unusable)\n`])
  })

  it('reads a running agent as well', async () => {
    const { code, stdout } = await svc(['audit', seller.url, ...PERIOD], env)
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('Nothing differs.') })
  })

  const JSONL = { 'content-type': 'application/jsonl' }
  const outOfTime = new AbortController()
  const endless = (_: IncomingMessage, response: ServerResponse) => {
    const more = () => void response.write(Buffer.alloc(1024 * 1024, ' '), error => error ?? more())
    response.writeHead(200, JSONL)
    more()
  }
  it.each<[string, (request: IncomingMessage, response: ServerResponse) => void, RegExp]>([
    ['a page', (_, response) => void response.end('<p>Welcome'), /answered 200: this may be no agent/],
    ['one line without an end', endless, /A line has more than 64 MiB: this is no journal/],
    [
      'half an answer',
      (_, response) => {
        response.writeHead(200, { ...JSONL, 'content-length': 500 })
        response.write('{"journal":1', () => response.destroy())
      },
      /broke its answer off \(\w.*\) \(audit_unavailable\)/,
    ],
    [
      'no end in time',
      (_, response) => {
        response.writeHead(200, JSONL)
        response.write('{"journal":1', () => outOfTime.abort(new Error('no answer in time')))
      },
      / \(no answer in time\) \(audit_unavailable\)/,
    ],
  ])('ends where what it asks sends %s', async (_, answer, says) => {
    vi.spyOn(AbortSignal, 'timeout').mockReturnValue(outOfTime.signal)
    const stranger = createServer(answer).listen(0, '127.0.0.1')
    await once(stranger, 'listening')
    const url = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`
    const { code, stderr } = await svc(['audit', url, ...PERIOD], env)
    stranger.closeAllConnections()
    stranger.close()
    vi.restoreAllMocks()
    expect(code).toBeGreaterThan(0)
    expect(stderr).toMatch(says)
  })

  it('says how to be let in where the agent does not answer', async () => {
    const { code, stderr } = await svc(['audit', seller.sandbox.url, ...PERIOD], env)
    expect(code).toBe(1)
    expect(stderr).toMatch(/^svc: \S+ answered 404: .*SVC_AUDIT_TOKEN \(audit_unavailable\)\n$/)
  })

  it.each([
    [
      'missing_transaction',
      (all: string[]) => all.with(settled(all), all[settled(all)]!.replace(/"txId":"..../, '"txId":"AAAA')),
    ],
    [
      'wrong_amount',
      (all: string[]) =>
        all.with(settled(all), all[settled(all)]!.replace('"amount":"10000"', '"amount":"20000"')),
    ],
    [
      'illegal_path',
      (all: string[]) =>
        all.with(settled(all), all[settled(all)]!.replace('verifying.verified', 'verifying.waved')),
    ],
    ['unexplained_transaction', (all: string[]) => all.toSpliced(settled(all), 1)],
  ])('finds %s, says what to do, and exits with 1', async (finding, change) => {
    const { code, stdout, stderr } = await svc(['audit', await journalWith(change), ...PERIOD, '--json'], env)
    const { differences } = JSON.parse(stdout)
    expect(code).toBe(1)
    expect(differences).toContainEqual(expect.objectContaining({ finding, do: expect.stringMatching(/\.$/) }))
    expect(stderr).toMatch(/^svc: \d differences? \(differences_found\)\n$/)
  })

  it('finds a payment that came to nobody’s call', async () => {
    const quoted = challengeIn(await ask(`${seller.url}/work`, { body: {} }))
    const { sandbox } = seller
    const signer = algorandPaymentSigner({
      key: signingKey(sandbox.accounts('stranger').mnemonic),
      network: TESTNET,
      algod: algodClient({ url: sandbox.algodUrl, nodeTimeoutMs: 20_000 }),
    })
    const { payload } = await signer.sign(quoted, quoted.accepts[0]!)
    const body = JSON.stringify({
      x402Version: 2,
      paymentPayload: payload,
      paymentRequirements: quoted.accepts[0],
    })
    const paid = await fetch(`${sandbox.facilitatorUrl}/settle`, { method: 'POST', body })
    expect(await paid.json()).toMatchObject({ success: true })
    const { code, stdout } = await svc(['audit', await journalWith(same => same), ...PERIOD], env)
    expect(code).toBe(1)
    expect(stdout).toMatch(/^unexplained_transaction: \$0\.01 from [A-Z2-7]{58}$/m)
  })

  it('prints charged runs for accountants, and no cell that a spreadsheet would run', async () => {
    const path = await journalWith(all =>
      all.with(
        settled(all),
        all[settled(all)]!.replace(/"payer":"[^"]*"/, '"payer":"=HYPERLINK(\\"http://x\\",1)"'),
      ),
    )
    const { stdout } = await svc(['audit', path, ...PERIOD, '--csv'], env)
    const [head, first, ...others] = stdout.trimEnd().split('\n')
    expect(head).toBe('time,endpoint,usd,base units,asset,transaction,payer,run,memo')
    expect(first).toMatch(
      /^\d{4}-\d\d-\d\dT[\d:.]+Z,work,0\.01,10000,10458941,[A-Z2-7]{52},"'=HYPERLINK\(""http:\/\/x"",1\)",/,
    )
    expect(others).toHaveLength(2)
    expect(first).toMatch(/,x402 call of work$/)
  })

  it('adds up what each endpoint took in a day', async () => {
    const { stdout, stderr } = await svc(['audit', await journalWith(all => all), ...PERIOD, '--daily'], env)
    const [head, day, ...others] = stdout.trimEnd().split('\n')
    expect(head).toBe('date,endpoint,payments,usd,base units,asset,memo')
    expect(day).toMatch(/^\d{4}-\d\d-\d\d,work,3,0\.03,30000,10458941,x402 sales of work on testnet$/)
    expect(others).toEqual([])
    expect(stderr).toContain('charged     3, $0.03')
  })

  it('lists what is owed for the calls that a running agent remembers', async () => {
    const { code, stdout, stderr } = await svc(['refunds', seller.url, '--to', '2120-01-01'], env)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('Nothing is owed, as far as these journals and the chain say.\n')
    const other = await svc(['refunds', 'http://127.0.0.1:9'], env)
    expect(other).toMatchObject({ code: 1, stdout: '' })
    expect(other.stderr).toContain('did not answer')
  })

  it.each([
    ['no journal', ['audit']],
    ['a moment that is none', ['audit', 'runs.jsonl', '--from', 'yesterday']],
    ['two formats for one output', ['audit', 'runs.jsonl', '--csv', '--json']],
    ['a day that is none', ['audit', 'runs.jsonl', '--from', '2026-02-30']],
    [
      'a period that ends before it begins',
      ['audit', 'runs.jsonl', ...['--from', '2026-02-02', '--to', '2026-02-01']],
    ],
  ])('refuses %s as usage', async (_, args) => {
    const stderr = expect.stringMatching(/\((usage|invalid_options)\)\n$/)
    expect(await svc(args)).toEqual({ code: 2, stdout: expect.not.stringContaining('time,'), stderr })
  })

  it('fails on a file that is not there, and on one that is no journal, with one line', async () => {
    const [none, directory, ...others] = await Promise.all([
      svc(['audit', join(folder, 'none.jsonl')], env),
      svc(['audit', folder], env),
      svc(['audit', 'package.json'], env),
      svc(['refunds', 'package.json'], env),
    ])
    expect(none).toMatchObject({ code: 2, stdout: '' })
    expect(none!.stderr).toMatch(/^svc: [^\n]+ there is no such file [^\n]+ \(file_unusable\)\n$/)
    expect(directory).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/is no file .*\(file_unusable\)\n$/),
    })
    // 1 would say that something differs, or that something is owed.
    for (const { code, stdout, stderr } of others) {
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toMatch(/^svc: [^\n]+ \(empty_journal\)\n$/)
    }
  })
})
