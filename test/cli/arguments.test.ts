/** What people type: where a body comes from, what goes beside it, and what they are told of a slip. */
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withNetworkHint } from '../../cli/commands/call.js'
import { CAIP2, defineEndpoint, SvcError } from '../../src/index.js'
import { openSeller, type Seller } from '../support/seller.js'
import { ended, start, svc } from './run.js'

let seller: Seller
let folder: string
beforeAll(async () => {
  seller = await openSeller([
    defineEndpoint({
      name: 'echo',
      price: '$0.01',
      handler: ({ body, headers }) => ({ body, team: headers['x-team'], color: headers['x-color'] }),
    }),
    defineEndpoint({ name: 'ask', method: 'GET', price: '$0.01', handler: ({ query }) => ({ query }) }),
  ])
  folder = await mkdtemp(join(tmpdir(), 'svc-arguments-'))
})
afterAll(async () => {
  await seller?.close()
  await rm(folder, { recursive: true })
})

const env = () => ({ SVC_SANDBOX: seller.sandbox.url, SVC_MNEMONIC: seller.sandbox.wallet.mnemonic })

function call(args: readonly string[], input = '') {
  const child = start(['call', '--max-price', '0.05', ...args], env())
  child.stdin!.end(input)
  return ended(child)
}

describe('svc call', () => {
  it('takes a body from a file, and from standard input', async () => {
    const file = join(folder, 'body.json')
    await writeFile(file, '{"from":"a file"}')
    const [filed, piped] = await Promise.all([
      call([`${seller.url}/echo`, '--body', `@${file}`]),
      call([`${seller.url}/echo`, '--body', '-'], '{"from":"a pipe"}'),
    ])
    expect([JSON.parse(filed.stdout).body, JSON.parse(piped.stdout).body]).toEqual([
      { from: 'a file' },
      { from: 'a pipe' },
    ])
  })

  it('adds headers and a query', async () => {
    const headers = ['--header', 'X-Team: blue: or green', '--header', 'x-color:red']
    const told = await call([`${seller.url}/echo`, '--body', '{}', ...headers])
    expect(JSON.parse(told.stdout)).toEqual({ body: {}, team: 'blue: or green', color: 'red' })
    const query = ['--data', 'city=São Paulo', '--data', 'a=1=2']
    const asked = await call([`${seller.url}/ask?first=0`, '--method', 'GET', ...query])
    expect(JSON.parse(asked.stdout)).toEqual({ query: { first: '0', city: 'São Paulo', a: '1=2' } })
  })

  it('says which network a seller quotes, where it is another than the caller’s', async () => {
    const { code, stderr } = await call([`${seller.url}/echo`, '--body', '{}', '--network', 'mainnet'])
    expect(code).toBe(3)
    expect(stderr).toContain('(it is for testnet); nothing was paid; try --network testnet')
  })

  it('names no other network where the quote is for the caller’s, and cannot be paid for another reason', () => {
    const detail = { accepts: [{ scheme: 'exact', network: CAIP2.testnet, amount: '1', asset: '10458941' }] }
    const error = new SvcError('The quote does not say what the call costs', 'unreadable_quote', 402, detail)
    expect(withNetworkHint(error)).toBe(error)
  })

  it('warns of an idempotency key that the seller does not offer to keep', async () => {
    const { stderr } = await call([`${seller.url}/echo`, '--body', '{}', '--idempotency-key', 'order-7'])
    expect(stderr).toMatch(/^warning: .* \(idempotency_not_offered\)$/m)
  })
})

describe('svc tx', () => {
  it('looks a payment up, by the node and, where that has forgotten it, by the indexer', async () => {
    const { stderr } = await call([`${seller.url}/echo`, '--body', '{}'])
    const [txId = ''] = /[A-Z2-7]{52}/.exec(stderr)!
    const { code, stdout } = await svc(['tx', txId], env())
    expect(code).toBe(0)
    expect(stdout).toMatch(/^landed +in round \d+ on testnet\nmoved +\$0\.01 in USDC\n/m)
    expect(stdout).toMatch(new RegExp(`^to +${seller.sandbox.seller.address}$`, 'm'))
    seller.sandbox.advanceRounds(1_100)
    const old = await svc(['tx', txId, '--json'], env())
    expect(JSON.parse(old.stdout)).toMatchObject({
      state: 'landed',
      landedMs: expect.any(Number),
      moved: { amount: '10000' },
    })
  })

  it('fails where nobody has seen it, and on a node of another network', async () => {
    const unknown = 'A'.repeat(52)
    const [unseen, elsewhere] = await Promise.all([
      svc(['tx', unknown, '--json'], env()),
      svc(['tx', unknown, '--network', 'mainnet'], env()),
    ])
    expect(unseen.code).toBe(1)
    expect(JSON.parse(unseen.stdout).error).toMatchObject({ code: 'tx_not_found', detail: { txId: unknown } })
    expect(elsewhere).toMatchObject({ code: 1, stderr: expect.stringContaining('(network_mismatch)') })
  })
})

describe('a port', () => {
  it.each([[['sandbox']], [['sell', 'http://127.0.0.1:9', '--sandbox', '--price', 'POST /a=$0.01']]])(
    'that is taken is told with what to do, and nothing else: %j',
    async args => {
      const { port } = new URL(seller.url)
      const { code, stderr } = await svc([...args, '--port', port])
      expect([code, stderr]).toEqual([
        1,
        `svc: Port ${port} is in use: name another (PORT, or --port of svc), or end the program that has it (port_in_use)\n`,
      ])
    },
  )
})

describe('an address to listen on', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1 is no address of this machine (invalid_options)\n'],
    ['no-host.invalid', 'no-host.invalid is no address of this machine (invalid_options)\n'],
    ['', "option '--host <host>' argument '' is invalid. It is an address of this machine. (usage)\n"],
  ])('that is none is told: %j', async (host, says) => {
    const args = ['sell', 'http://127.0.0.1:9', '--sandbox', '--price', 'POST /a=$0.01', '--port', '0']
    expect(await svc([...args, '--host', host])).toEqual({ code: 2, stdout: '', stderr: `svc: ${says}` })
  })
})

describe('a slip', () => {
  it.each([
    [['qoute', 'http://x'], "unknown command 'qoute'. Did you mean quote?"],
    [['call', '--max-prise', '1', 'http://x'], "unknown option '--max-prise'. Did you mean --max-price?"],
    [['call', 'http://x'], '--max-price is missing'],
    [['mcp'], '--url is missing'],
    [['quote', 'http://x', '--body', '@/no/such/file'], 'It cannot be read (ENOENT)'],
    [['quote', 'http://x', '--body', '{'], 'It is not JSON'],
    [['quote', 'http://x', '--data', 'b'], 'It is name=value'],
    [['tx', 'ABC'], "'ABC' is invalid for argument 'id'. It is 52 of A-Z and 2-7"],
    [['wallet', 'balance', '--algod', 'node'], 'It is an http(s) URL'],
    [['audit', 'no-such.jsonl'], 'no-such.jsonl cannot be used: there is no such file'],
    [['quote', 'http://x', '--header', 'b'], "It is 'Name: value'"],
    [['call', 'http://x', '--max-price', '1', '--network', ''], 'It is empty'],
  ])('%j is told on one line', async (args, what) => {
    const { code, stdout, stderr } = await svc(args, { SVC_NETWORK: 'testnet' })
    expect([code, stdout, stderr.trim().split('\n').length]).toEqual([2, '', 1])
    expect(stderr).toContain(what)
  })
})

describe('with --json, a failure', () => {
  it('is JSON on standard output, too', async () => {
    const { code, stdout, stderr } = await call([`${seller.url}/nothing`, '--json'])
    const { error } = JSON.parse(stdout)
    expect(error).toMatchObject({ code: 'call_failed', status: 404, message: expect.any(String) })
    expect([code, stderr]).toEqual([1, expect.stringContaining('(call_failed)')])
  })
})

describe('completion', () => {
  it('knows commands, flags and choices, and its script is one that bash can read', async () => {
    const [commands, flags, choices, script] = await Promise.all([
      svc(['complete', '--', 'wal']),
      svc(['complete', '--', 'call', '--max']),
      svc(['complete', '--', 'init', 'x', '--template', '']),
      svc(['completion', 'bash']),
    ])
    expect(commands.stdout).toMatch(/^wallet\t/)
    expect(flags.stdout).toMatch(/^--max-price\t/)
    expect(choices.stdout).toMatch(/^basic\t\nllm\t\noracle\t\n/)
    const bash = spawnSync('bash', ['-c', `${script.stdout}\ncomplete -p svc`], { encoding: 'utf8' })
    expect(bash).toMatchObject({ status: 0, stdout: expect.stringContaining(' svc') })
  })
})

describe('colours', () => {
  it('are for terminals, unless FORCE_COLOR asks for them', async () => {
    const [piped, forced] = await Promise.all([
      svc(['doctor'], env()),
      svc(['doctor'], { ...env(), FORCE_COLOR: '1' }),
    ])
    expect(piped.stdout).not.toContain('\u001b')
    expect(forced.stdout).toContain('\u001b[32mok')
  })
})
