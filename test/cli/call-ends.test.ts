/** `svc call`: what is typed is sent and what is received is printed, and every end says what was signed. */
import { spawn } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, it, onTestFinished } from 'vitest'
import { declaredIdentifier } from '../../src/domain/idempotency-key.js'
import { defineEndpoint } from '../../src/index.js'
import {
  ANSWER,
  failure,
  honest,
  marketForFile,
  PRICE,
  quote,
  type Script,
  txIdIn,
} from '../client/market.js'
import { gate } from '../support/gate.js'
import { open } from '../support/seller.js'
import { hear, inTerminal, MAIN, start, svc } from './run.js'

const market = marketForFile()
let payers = 0

function wallet() {
  const { address, mnemonic } = market.sandbox.accounts(`ends payer ${++payers}`)
  const before = market.sandbox.balance(address).usdc!
  const env = { SVC_SANDBOX: market.sandbox.url, SVC_MNEMONIC: mnemonic }
  return { env, spent: () => before - market.sandbox.balance(address).usdc! }
}

/** Its quote says that it keeps keys; what is paid for is answered by `sell`. */
function keeping(sell: Script): Script {
  return (seen, shop) =>
    seen.payment
      ? sell(seen, shop)
      : quote({ accepts: [shop.entry()], extensions: { 'payment-identifier': declaredIdentifier() } })
}

/** Sells this body under this type. */
function selling(body: string | Uint8Array, type = 'application/json'): Script {
  return keeping(async (seen, shop) => {
    const { headers } = (await shop.sell(seen.payment!)) as typeof ANSWER
    return { status: 200, headers: { ...headers, 'content-type': type }, body }
  })
}

const BIG = '{"n": 18446744073709551615,\n "empty": [], "list":[1790001234567890123,"a\\"{,"]}'

describe('what is typed and what is received', () => {
  it('are sent and piped as they are, beyond 2^53 as well', async () => {
    const seller = await market.seller(selling(BIG))
    const typed = '{"n": 1790001234567890123}'
    const args = ['call', seller.url, '--body', typed, '--max-price', '1']
    expect(await svc(args, wallet().env)).toMatchObject({ code: 0, stdout: BIG })
    const asJson = await svc([...args, '--json'], wallet().env)
    expect(asJson.stdout).toContain('18446744073709551615')
    expect(JSON.parse(asJson.stdout)).toMatchObject({ data: JSON.parse(BIG), status: 200 })
    await svc(['quote', seller.url, '--body', typed])
    expect(new Set(seller.seen.map(({ body }) => body))).toEqual(new Set([typed]))
    expect(new Set(seller.seen.map(({ headers }) => headers['content-type']))).toEqual(
      new Set(['application/json']),
    )
  })

  it('are bytes from a file; a type that is named is kept', async () => {
    const seller = await market.seller(honest)
    const args = ['call', seller.url, '--max-price', '1', '--header', 'Content-Type: text/plain']
    await svc([...args, '--body', '"hello"'], wallet().env)
    expect(seller.paid()[0]).toMatchObject({ body: 'hello', headers: { 'content-type': 'text/plain' } })
  })

  it('is shown on a terminal with its own digits, indented where it is small', async () => {
    const { url } = await market.seller(selling(BIG))
    const heard = hear(inTerminal(['call', url, '--max-price', '1'], wallet().env))
    expect(await heard.ended).toBe(0)
    expect(heard.text.replaceAll('\r', '')).toContain(
      '\n{\n  "n": 18446744073709551615,\n  "empty": [],\n  "list": [\n    1790001234567890123,\n    "a\\"{,"\n  ]\n}\n',
    )
  })

  it('is one object with --json: deep JSON is not indented, bytes are base64 with their type', async () => {
    const deep = `[${Array.from({ length: 1_000 }, () => '['.repeat(500) + ']'.repeat(500)).join()}]`
    const { url } = await market.seller(selling(deep))
    const { code, stdout } = await svc(['call', url, '--max-price', '1', '--json'], wallet().env)
    expect({ code, head: stdout.slice(0, 12), length: stdout.length < 2 * deep.length }).toEqual({
      code: 0,
      head: '{"data":[[[[',
      length: true,
    })
    const image = await market.seller(selling(new Uint8Array([0, 255, 1]), 'image/png'))
    const asJson = await svc(['call', image.url, '--max-price', '1', '--json'], wallet().env)
    expect(JSON.parse(asJson.stdout).data).toEqual({ bytes: 'AP8B', type: 'image/png' })
  })
})

describe('on a terminal', () => {
  const HOSTILE = 'a\u001b[2J\u009b31m\u202eb'
  it.each(['application/xml', 'image/svg+xml', 'text/plain', 'application/octet-stream', ''])(
    'no byte of a stranger’s is raw under the type %j',
    async type => {
      for (const flags of [[], ['--stream']]) {
        const { url } = await market.seller(selling(HOSTILE, type))
        const heard = hear(
          inTerminal(['call', url, '--max-price', '1', ...flags], wallet().env, undefined, folder()),
        )
        await heard.ended
        // The spinner's own commands are ours.
        const shown = heard.text.replaceAll('\u001b[2K', '').replaceAll('\u001b[1G', '')
        for (const raw of ['\u001b', '\u009b', '\u202e']) expect(shown).not.toContain(raw)
      }
    },
  )

  it.each([[[]], [['--stream']]])(
    'bytes are refused with %j, and kept in a file: they were paid for',
    async flags => {
      const bytes = new Uint8Array([137, 80, 0, 27, 91, 50, 74, 255])
      const { url } = await market.seller(selling(bytes, 'image/png'))
      const at = folder()
      const { env, spent } = wallet()
      const heard = hear(inTerminal(['call', url, '--max-price', '1', ...flags], env, undefined, at))
      expect(await heard.ended).toBe(0)
      const [file] = readdirSync(at)
      expect(heard.text).toContain(`image/png, which a terminal cannot show: it is in ${file}`)
      expect(readFileSync(join(at, file!))).toEqual(Buffer.from(bytes))
      expect(statSync(join(at, file!)).mode & 0o777).toBe(0o600)
      expect(spent()).toBe(PRICE)
    },
  )
})

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'svc-ends-'))
  onTestFinished(() => rmSync(made, { recursive: true }))
  return made
}

/** The line that says all of a payment, for a txId and a key. */
const told = (charged: string, key = '[0-9a-zA-Z_-]+') =>
  new RegExp(
    `^payment ([A-Z2-7]{52}): \\$0\\.01 to [A-Z2-7]{58}, ${charged}[^\\n]* round \\d+; idempotency key (${key})$`,
    'm',
  )

describe('a paid answer that cannot be written', () => {
  it.each([[[]], [['--json']], [['--stream']]])('to a full disk, with %j', async flags => {
    const seller = await market.seller(selling('{"paid":true}'))
    const full = openSync('/dev/full', 'w')
    const { env, spent } = wallet()
    const child = spawn(process.execPath, [MAIN, 'call', seller.url, '--max-price', '1', ...flags], {
      env: { PATH: process.env.PATH, ...env },
      stdio: ['ignore', full, 'pipe'],
    })
    const end = endedOn(child.stderr!, child)
    closeSync(full)
    const { code, stderr } = await end
    const [paid] = seller.paid()
    expect({ code, spent: spent() }).toEqual({ code: 4, spent: PRICE })
    const [, txId, key] = told('charged').exec(stderr)!
    expect([txId, key]).toEqual([txIdIn(paid!.payment!), paid!.headers['idempotency-key']])
    expect(stderr).toMatch(/\nsvc: The answer cannot be written: [^\n]*ENOSPC[^\n]* \(output_unwritable\)\n$/)
    expect(stderr).not.toMatch(/\n\s+at /)
  })

  it('to a pipe whose reader has left, in the middle of a stream', async () => {
    const door = gate()
    const endpoint = defineEndpoint({
      name: 'work',
      price: '$0.01',
      stream: true,
      async *handler() {
        yield 'one'
        await door.opened
        for (let at = 0; at < 100; at++) yield 'x'.repeat(10_000)
      },
    })
    const { url } = await open([endpoint], { sandbox: market.sandbox })
    const { env, spent } = wallet()
    const args = ['call', `${url}/work`, '--body', '{}', '--max-price', '1', '--stream', '--json']
    const child = start(args, env)
    const end = endedOn(child.stderr!, child)
    for await (const line of createInterface({ input: child.stdout! })) {
      expect(JSON.parse(line)).toEqual({ data: 'one' })
      break
    }
    child.stdout!.destroy()
    door.open()
    const { code, stderr } = await end
    expect({ code, spent: spent() }).toEqual({ code: 4, spent: PRICE })
    expect(stderr).toMatch(/^payment [A-Z2-7]{52}: \$0\.01 to [A-Z2-7]{58}, charged/m)
    // The key of a stream that broke is free: the same command would pay again.
    expect(stderr).not.toContain('To get the answer')
    expect(stderr).toMatch(/\nsvc: [^\n]*EPIPE[^\n]* \(output_unwritable\)\n$/)
  })

  it('nor the receipt: a window whose key nobody was told is no success', async () => {
    const { url } = await market.seller(honest)
    const full = openSync('/dev/full', 'w')
    const child = spawn(process.execPath, [MAIN, 'call', url, '--max-price', '1'], {
      env: { PATH: process.env.PATH, ...wallet().env },
      stdio: ['ignore', 'pipe', full],
    })
    const end = endedOn(child.stdout!, child)
    closeSync(full)
    expect(await end).toMatchObject({ code: 4 })
  })
})

function endedOn(stream: NodeJS.ReadableStream, child: ReturnType<typeof spawn>) {
  let stderr = ''
  stream.on('data', chunk => {
    stderr += chunk
  })
  return new Promise<{ code: number | null; stderr: string }>(resolve =>
    child.on('close', code => resolve({ code, stderr })),
  )
}

describe('a call that fails while its payment can land', () => {
  const refusing = keeping(() => failure(404, 'not_found'))

  it('ends with 4, whatever its seller says, and with the round until which it can', async () => {
    const { env, spent } = wallet()
    const seller = await market.seller(refusing)
    const { code, stderr } = await svc(['call', seller.url, '--max-price', '1'], env)
    expect({ code, spent: spent() }).toEqual({ code: 4, spent: 0n })
    expect(told('not charged, says the seller').exec(stderr)?.[1]).toBe(txIdIn(seller.paid()[0]!.payment!))
  })

  it.each(['yes', 'maybe'])(
    'ends with 3 where nothing was sent, whatever the quote has beside its terms (%s)',
    async charged => {
      const { url } = await market.seller((_, shop) =>
        shop.challenge({ ...shop.entry(), charged, payments: [{}], txId: 'A'.repeat(52) }),
      )
      const { code, stderr } = await svc(['call', url, '--max-price', '0.001'], wallet().env)
      expect({ code, stderr }).toEqual({
        code: 3,
        stderr: expect.stringMatching(/^svc: [^\n]+ \(price_above_max\)\n$/),
      })
    },
  )

  it('says the same with --json', async () => {
    const seller = await market.seller(refusing)
    const { stdout } = await svc(['call', seller.url, '--max-price', '1', '--json'], wallet().env)
    const { error } = JSON.parse(stdout)
    expect(error.detail.payments).toEqual([
      expect.objectContaining({
        txId: txIdIn(seller.paid()[0]!.payment!),
        ...{ amount: '10000', usd: 0.01, charged: 'no', lastValid: expect.any(Number) },
      }),
    ])
  })

  it.each(['/dev/full', 'a closed pipe'])(
    'ends with 4 also where its error cannot be written to %s',
    async to => {
      const { url } = await market.seller(refusing)
      const full = openSync('/dev/full', 'w')
      const child = spawn(process.execPath, [MAIN, 'call', url, '--max-price', '1', '--json'], {
        env: { PATH: process.env.PATH, ...wallet().env },
        stdio: ['ignore', to === '/dev/full' ? full : 'pipe', 'pipe'],
      })
      const end = endedOn(child.stderr!, child)
      closeSync(full)
      child.stdout?.destroy()
      const { code, stderr } = await end
      expect(code).toBe(4)
      expect(stderr).toMatch(told('not charged, says the seller'))
    },
  )

  it('prints the one command that gets the answer, which pays no second time', async () => {
    const { env, spent } = wallet()
    const first: string[] = []
    const seller = await market.seller(
      keeping(async (seen, shop) => {
        const key = seen.headers['idempotency-key']!
        const isRepeat = first.includes(key)
        first.push(key)
        if (isRepeat) return { ...ANSWER, headers: { ...ANSWER.headers, 'idempotency-replayed': 'true' } }
        await shop.settle(seen.payment!)
        return failure(409, 'payment_spent')
      }),
    )
    const body = `{"it's":"typed"}`
    const { code, stderr } = await svc(['call', seller.url, '--max-price', '1', '--body', body], env)
    expect(code).toBe(4)
    const [, command] = /^To get the answer: svc (.*)$/m.exec(stderr)!
    const again = hear(spawn('sh', ['-c', `'${process.execPath}' '${MAIN}' ${command}`], { env }))
    expect(await again.ended).toBe(0)
    expect(again.text).toContain('"done":true')
    expect(seller.paid().at(-1)?.body).toBe(body)
    expect(spent()).toBe(PRICE)
  })
})
