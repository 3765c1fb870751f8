/** What people type: where a body comes from, what goes beside it, and what they are told of a slip. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
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
    expect(stderr).toContain('testnet')
    expect(stderr).toContain('--network testnet')
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
