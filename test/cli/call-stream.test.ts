/** `svc call --stream`: what comes is printed as it comes, and what was paid is said however the stream ends. */
import { createInterface } from 'node:readline'
import { describe, expect, it } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { honest, marketForFile, PRICE } from '../client/market.js'
import { gate } from '../support/gate.js'
import { open } from '../support/seller.js'
import { ended, start, svc } from './run.js'

const market = marketForFile()
let payers = 0

function wallet() {
  const { address, mnemonic } = market.sandbox.accounts(`stream payer ${++payers}`)
  const before = market.sandbox.balance(address).usdc!
  const env = { SVC_SANDBOX: market.sandbox.url, SVC_MNEMONIC: mnemonic }
  return { env, spent: () => before - market.sandbox.balance(address).usdc! }
}

async function selling(handler: () => unknown) {
  const endpoint = defineEndpoint({ name: 'work', price: '$0.01', stream: true, handler })
  const { url } = await open([endpoint], { sandbox: market.sandbox })
  return ['call', `${url}/work`, '--body', '{}', '--max-price', '0.01', '--stream']
}

async function* words() {
  yield 'one\u001b[31m'
  yield { two: 2 }
}

async function* failing() {
  yield 'one'
  throw new Error('as planned')
}

describe('svc call --stream', () => {
  it('prints events as lines on stdout, and the receipt on stderr', async () => {
    const { env, spent } = wallet()
    const { code, stdout, stderr } = await svc(await selling(words), env)
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'one\u001b[31m\n{"two":2}\n' })
    expect(stderr).toMatch(/price +\$0\.01\n/)
    expect(stderr).toMatch(/transaction +[A-Z2-7]{52}\n/)
    expect(spent()).toBe(PRICE)
  })

  it('prints a JSON line for each event with --json, and the payment at the end', async () => {
    const { env } = wallet()
    const { code, stdout, stderr } = await svc([...(await selling(words)), '--json'], env)
    const lines = stdout.trimEnd().split('\n')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(lines.map(line => JSON.parse(line))).toEqual([
      { data: 'one\u001b[31m' },
      { data: { two: 2 } },
      { status: 200, payment: expect.objectContaining({ usd: 0.01 }), attempts: 1, complete: true },
    ])
  })

  it.each<[string, () => unknown, string, unknown]>([
    ['an answer that is none', () => ({ plain: true }), '{"plain":true}', { text: '{"plain":true}' }],
    [
      'bytes',
      () => new Blob(['\u0000ä']).stream(),
      '\u0000ä',
      { bytes: 'AMOk', type: 'application/octet-stream' },
    ],
  ])('prints %s as it is', async (_, handler, text, piece) => {
    const args = await selling(handler)
    expect(await svc(args, wallet().env)).toMatchObject({ code: 0, stdout: text })
    const { stdout } = await svc([...args, '--json'], wallet().env)
    expect(JSON.parse(stdout.split('\n')[0]!)).toEqual(piece)
  })

  it('prints a line before the next one is made; Ctrl-C ends the stream, and says what was paid', async () => {
    const { env, spent } = wallet()
    const door = gate()
    const args = await selling(async function* () {
      yield 'one'
      await door.opened
    })
    const child = start(args, env)
    const run = ended(child)
    for await (const line of createInterface({ input: child.stdout! })) {
      expect(line).toBe('one')
      break
    }
    child.kill('SIGINT')
    const { code, stderr } = await run
    door.open()
    expect(code).toBe(4)
    expect(stderr).toMatch(
      /\nsvc: [^\n]+ was aborted; it was charged \$0\.01 \(payment [A-Z2-7]{52}\) \(aborted\)\n$/,
    )
    expect(spent()).toBe(PRICE)
  })

  it('fails with the code for a charge where the stream breaks, after what came', async () => {
    const { env, spent } = wallet()
    const args = await selling(failing)
    const { code, stdout, stderr } = await svc(args, env)
    expect({ code, stdout }).toEqual({ code: 4, stdout: 'one\n' })
    expect(stderr).toMatch(/\nsvc: [^\n]+ it was charged \$0\.01 [^\n]+ \(stream_broken\)\n$/)
    expect(spent()).toBe(PRICE)
    const asJson = await svc([...args, '--json'], wallet().env)
    expect(JSON.parse(asJson.stdout.trimEnd().split('\n').at(-1)!)).toMatchObject({
      payment: { usd: 0.01 },
      complete: false,
    })
  })

  it('refuses to pay as any call does', async () => {
    const { url } = await market.seller(honest)
    const { env, spent } = wallet()
    const { code, stdout, stderr } = await svc(['call', url, '--max-price', '0.001', '--stream'], env)
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    expect(stderr).toMatch(/\(price_above_max\)\n$/)
    expect(spent()).toBe(0n)
  })
})
