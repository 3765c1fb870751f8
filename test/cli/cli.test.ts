/** The command line: results on stdout, everything else on stderr, one line and a code for what fails. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { declaredIdentifier } from '../../src/domain/idempotency-key.js'
import { ALGORAND_TESTNET, TESTNET } from '../../src/domain/network.js'
import { ANSWER, failure, honest, marketForFile, PRICE, quote, type Script } from '../client/market.js'
import { gate } from '../support/gate.js'
import { ended, firstLine, start, svc } from './run.js'

const market = marketForFile()
let payers = 0

function wallet() {
  const { address, mnemonic } = market.sandbox.accounts(`cli payer ${++payers}`)
  const before = market.sandbox.balance(address).usdc!
  const env = { SVC_SANDBOX: market.sandbox.url, SVC_MNEMONIC: mnemonic }
  return { env, spent: () => before - market.sandbox.balance(address).usdc! }
}

describe('svc', () => {
  it('--version prints the package’s', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
    expect(await svc(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
  })

  it('--help names commands, examples and exit codes', async () => {
    const { code, stdout, stderr } = await svc(['--help'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    for (const text of ['quote', 'call', 'manifest', 'sandbox', 'Examples:', 'Exit codes:', 'SVC_MNEMONIC']) {
      expect(stdout).toContain(text)
    }
  })

  it('without a command prints help and fails as usage', async () => {
    const { code, stdout, stderr } = await svc([])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('Usage: svc')
  })

  it('explains a code', async () => {
    const { stdout } = await svc(['explain', 'payment_spent'])
    expect(stdout).toMatch(/^This very payment was already spent.* look txId up [^\n]+\n$/)
  })

  it.each([
    ['settlement_unkown', 'settlement_unknown'],
    ['Payment-Spent', 'payment_spent'],
  ])('names the code that %s is nearest to', async (given, near) => {
    const { code, stderr } = await svc(['explain', given])
    expect([code, stderr]).toEqual([2, expect.stringContaining(`Did you mean ${near}?`)])
    expect((await svc(['explain', 'nothing-of-ours'])).stderr).not.toContain('Did you mean')
  })

  const misused: [string, string[]][] = [
    ['an unknown command', ['pay']],
    ['a missing URL', ['quote']],
    ['an unknown flag', ['quote', 'http://a.example', '--mnemonic', 'words']],
    ['a body that is no JSON', ['quote', 'http://a.example', '--body', '{']],
    ['a URL that is none', ['quote', 'a.example']],
    ['no limit', ['call', 'http://a.example']],
    ['a limit that is no price', ['call', 'http://a.example', '--max-price', 'much']],
    ['an unknown network', ['call', 'http://a.example', '--max-price', '1', '--network', 'devnet']],
    ['a code that nobody says', ['explain', 'payment_lost']],
    ['a fault that does not exist', ['sandbox', '--fault', 'settle=nicely']],
  ]
  for (const [name, args] of misused) {
    it(`refuses ${name} with one line and code 2`, async () => {
      const { code, stdout, stderr } = await svc(args, { SVC_MNEMONIC: market.sandbox.wallet.mnemonic })
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toMatch(/^svc: [^\n]+ \([a-z_]+\)\n$/)
    })
  }
})

describe('svc quote', () => {
  it('decodes a quote, without a wallet', async () => {
    const { url } = await market.seller(honest)
    const { code, stdout } = await svc(['quote', url, '--body', '{"text":"x"}'])
    expect(code).toBe(0)
    expect(stdout).toContain('price        $0.01\n')
    expect(stdout).toContain('network      testnet (algorand:')
    expect(stdout).toContain(`pay to       ${market.sandbox.seller.address}\n`)
    const asked = await svc(['quote', url, '--json'])
    expect(JSON.parse(asked.stdout)).toMatchObject({
      paymentRequired: true,
      requirements: { accepts: [{ amount: '10000' }] },
    })
  })

  it('shows a way to pay once, in however many spellings of the network it is offered', async () => {
    const seller = await market.seller((_, shop) => {
      const whole = { network: TESTNET.wholeHashId }
      const accepts = [shop.entry(), shop.entry(whole), shop.entry({ ...whole, amount: '20000' })]
      return quote({ resource: { url: 'https://a.example/' }, accepts })
    })
    const { stdout } = await svc(['quote', seller.url])
    expect(stdout.match(/^price .*/gm)).toEqual(['price        $0.01', 'price        $0.02'])
    expect(stdout).toContain(`network      testnet (${ALGORAND_TESTNET})\n`)
  })

  it('says which of several entries svc call pays: the cheapest that it can', async () => {
    const seller = await market.seller((_, shop) => {
      const free = shop.entry({ amount: '1', scheme: 'upto' })
      const accepts = [free, shop.entry({ amount: '30000' }), shop.entry({ amount: '20000' })]
      return quote({ resource: { url: 'https://a.example/' }, accepts })
    })
    const { stdout } = await svc(['quote', seller.url])
    const entries = stdout.split('\n\n')
    expect(entries.map(entry => entry.includes('svc call     pays this entry'))).toEqual([false, false, true])
    expect(entries[2]).toMatch(/^price +\$0\.02\n/)
  })

  it('says what a window has', async () => {
    const window = { subscriptionPeriod: '30d', subscriptionCalls: 100 }
    const { url } = await market.seller((_, shop) => shop.challenge(shop.entry({ extra: window })))
    const { stdout } = await svc(['quote', url])
    expect(stdout).toMatch(/^price +\$0\.01\nwindow +30d, 100 calls\n/)
  })

  it('makes no text of what is none', async () => {
    const thrower = { toString: 1 }
    const all = { network: thrower, amount: thrower, asset: thrower, payTo: thrower, scheme: thrower }
    const { url } = await market.seller((_, shop) =>
      quote({ resource: { url: thrower }, accepts: [all, shop.entry({ payTo: [[]] })] }),
    )
    const { code, stdout } = await svc(['quote', url])
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('price        $0.01\n') })
  })

  it('says where nothing is to be paid, and fails where there is no quote', async () => {
    const free = await market.seller(() => ANSWER)
    const gone = await market.seller(() => failure(404, 'not_found'))
    const broken = await market.seller(() => ({ status: 402 }))
    const [one, two, three] = await Promise.all([free, gone, broken].map(({ url }) => svc(['quote', url])))
    expect(one).toEqual({ code: 0, stdout: 'no payment required (status 200)\n', stderr: '' })
    expect(two).toEqual({
      code: 1,
      stdout: '',
      stderr: 'svc: The endpoint answered 404 instead of a quote: It is not_found (call_failed)\n',
    })
    expect(three).toMatchObject({ code: 3, stdout: '' })
  })

  it('shows a seller’s words without obeying them', async () => {
    const url = 'https://a.example/\u001b[2J\u202e\n\u009b31m'
    const seller = await market.seller((_, shop) =>
      quote({ resource: { url, description: 'a\nprice  $0' }, accepts: [shop.entry()] }),
    )
    const [plain, asJson] = await Promise.all([
      svc(['quote', seller.url]),
      svc(['quote', seller.url, '--json']),
    ])
    for (const { stdout } of [plain, asJson]) expect(stdout).not.toMatch(/[^\P{Cc}\n]|\p{Bidi_Control}/u)
    expect(plain.stdout).toContain('description  a\\u000aprice  $0\n')
    expect(JSON.parse(asJson.stdout).requirements.resource.url).toBe(url)
  })
})

describe('svc call', () => {
  it('pays, prints the answer on stdout and the receipt on stderr', async () => {
    const { env, spent } = wallet()
    const { url } = await market.seller(honest)
    const { code, stdout, stderr } = await svc(
      ['call', url, '--body', '{}', '--max-price', '0.01', '--network', 'testnet'],
      env,
    )
    expect({ code, stdout }).toEqual({ code: 0, stdout: '{"done":true}' })
    expect(stderr).toMatch(/price +\$0\.01\n/)
    expect(stderr).toMatch(/transaction +[A-Z2-7]{52}\n/)
    expect(spent()).toBe(PRICE)
  })

  it('prints the key of a window that it bought, sends it from the environment, and pays no more', async () => {
    const { env, spent } = wallet()
    const window = {
      'x-svc-subscription': 'a-key',
      'x-svc-subscription-expires': '2999-01-01T00:00:00Z',
      'x-svc-subscription-remaining': '99',
    }
    const { url } = await market.seller((seen, shop) => {
      if (seen.headers['x-svc-subscription'] === 'a-key')
        return { ...ANSWER, headers: { ...ANSWER.headers, 'x-svc-subscription-remaining': '98' } }
      return seen.payment ? shop.sell(seen.payment, window) : shop.challenge(shop.entry())
    })
    const bought = await svc(['call', url, '--max-price', '0.01'], env)
    expect(bought.code).toBe(0)
    expect(bought.stderr).toMatch(
      /window key +a-key\nwindow ends +2999-01-01T00:00:00\.000Z\ncalls left +99\n/,
    )
    const [covered, refused] = await Promise.all(
      ['a-key', 'another-key'].map(key =>
        svc(['call', url, '--json'], { ...env, SVC_SUBSCRIPTION_KEY: key }),
      ),
    )
    // Whoever keeps the answer in a file must not keep the caller's secret with it.
    expect(JSON.parse(covered!.stdout)).toMatchObject({
      data: { done: true },
      subscription: { url, remaining: 98 },
    })
    expect(covered!.stdout + covered!.stderr).not.toContain('a-key')
    expect(refused!.code).toBe(3)
    expect(refused!.stderr).toMatch(/^svc: [^\n]+ nothing was paid \(subscription_refused\)\n$/)
    expect(spent()).toBe(PRICE)
  })

  it('prints one object with --json, and sends the given key', async () => {
    const { env } = wallet()
    const seller = await market.seller(honest)
    const { stdout, stderr } = await svc(
      ['call', seller.url, '--max-price', '$1', '--idempotency-key', 'k-1', '--json'],
      env,
    )
    expect(JSON.parse(stdout)).toMatchObject({ data: { done: true }, payment: { usd: 0.01 }, status: 200 })
    expect(stderr).toBe('')
    expect(seller.paid()[0]?.headers['idempotency-key']).toBe('k-1')
  })

  it('fails without a wallet before any request', async () => {
    const seller = await market.seller(honest)
    const { code, stderr } = await svc(['call', seller.url, '--max-price', '1'])
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringMatching(/^svc: No wallet is given: [^\n]*SVC_MNEMONIC[^\n]* \(no_signer\)\n$/),
    })
    expect(seller.seen).toEqual([])
  })

  const dropped: Script = async (seen, shop) => {
    if (!seen.payment) return shop.challenge(shop.entry())
    await shop.settle(seen.payment)
    return failure(409, 'payment_spent')
  }
  const refusing: Script = (seen, shop) =>
    seen.payment ? failure(404, 'not_found') : shop.challenge(shop.entry())
  const failing: [string, Script, string, { code: number; told: string; spent: bigint }][] = [
    ['too dear', honest, '0.009', { code: 3, told: 'price_above_max', spent: 0n }],
    ['unreadable', () => ({ status: 402 }), '1', { code: 3, told: 'unreadable_quote', spent: 0n }],
    ['refused after payment', refusing, '1', { code: 4, told: 'call_failed', spent: 0n }],
    ['charged without an answer', dropped, '1', { code: 4, told: 'call_failed', spent: PRICE }],
  ]
  for (const [name, script, maxPrice, { code, told, spent: amount }] of failing) {
    it(`${name}: code ${code}, one line for the payment and one for the error, and never the mnemonic`, async () => {
      const { env, spent } = wallet()
      const { url } = await market.seller(script)
      const run = await svc(['call', url, '--max-price', maxPrice], env)
      expect(run).toEqual({
        code,
        stdout: '',
        stderr: expect.stringMatching(
          new RegExp(
            `^${code === 4 ? 'payment [A-Z2-7]{52}: [^\\n]+\\n' : ''}svc: [^\\n]+ \\(${told}\\)\\n$`,
          ),
        ),
      })
      expect(run.stderr).not.toContain(env.SVC_MNEMONIC.split(' ').slice(0, 2).join(' '))
      expect(spent()).toBe(amount)
    })
  }

  it.each(['SIGTERM', 'SIGHUP'] as const)('ended by %s says what may have been charged', async signal => {
    const { env, spent } = wallet()
    const paid = gate()
    const seller = await market.seller(async (seen, shop) => {
      if (!seen.payment) return shop.challenge(shop.entry())
      await shop.settle(seen.payment)
      paid.open()
      return 'silence'
    })
    const child = start(['call', seller.url, '--max-price', '1'], env)
    const run = ended(child)
    await paid.opened
    child.kill(signal)
    const { code, stdout, stderr } = await run
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' })
    expect(stderr).toMatch(
      /^payment [^\n]+\nsvc: [^\n]+ was aborted; it may have been charged: [^\n]+ \(aborted\)\n$/,
    )
    expect(spent()).toBe(PRICE)
  })

  it('ends after --timeout', async () => {
    const { url } = await market.seller(() => 'silence')
    const run = await svc(['call', url, '--max-price', '1', '--timeout', '0.1'], wallet().env)
    expect(run).toMatchObject({ code: 1, stderr: expect.stringMatching(/ was aborted[^\n]* \(aborted\)\n$/) })
  })

  it('charged without an answer, by a seller that keeps keys: names the key to send again', async () => {
    const { env } = wallet()
    const { url, paid } = await market.seller(async (seen, shop) => {
      if (seen.payment) return dropped(seen, shop)
      return quote({ accepts: [shop.entry()], extensions: { 'payment-identifier': declaredIdentifier() } })
    })
    const { code, stderr } = await svc(['call', url, '--max-price', '1'], env)
    const key = paid()[0]?.headers['idempotency-key']
    expect({ code, stderr }).toEqual({ code: 4, stderr: expect.stringContaining(`--idempotency-key ${key}`) })
  })

  it('a broken mnemonic is not repeated', async () => {
    const words = market.sandbox.wallet.mnemonic.split(' ')
    const env = { SVC_MNEMONIC: [...words.slice(0, 24), 'zzzzzz'].join(' ') }
    const { code, stdout, stderr } = await svc(['call', 'http://127.0.0.1:9/', '--max-price', '1'], env)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^svc: [^\n]+ \(invalid_key\)\n$/)
    for (const word of ['zzzzzz', `${words[0]} ${words[1]}`]) expect(stderr).not.toContain(word)
  })
})

describe('svc manifest', () => {
  it('prints what an agent offers', async () => {
    const endpoints = [
      {
        name: 'work',
        url: 'https://a.example/work',
        method: 'POST',
        price: '$0.01',
        pricing: 'fixed',
        description: 'Works',
      },
    ]
    const manifest = {
      name: 'A',
      handle: 'an-agent',
      network: 'testnet',
      payTo: market.sandbox.seller.address,
      endpoints,
    }
    const seller = await market.seller(() => ({ status: 200, body: JSON.stringify(manifest) }))
    const { origin } = new URL(seller.url)
    const [plain, asJson] = await Promise.all([
      svc(['manifest', origin]),
      svc(['manifest', origin, '--json']),
    ])
    expect(plain.stdout).toContain('POST https://a.example/work  $0.01\n  Works\n')
    expect(JSON.parse(asJson.stdout)).toEqual(manifest)
  })

  it('makes no text of what is none', async () => {
    const thrower = { toString: 1 }
    const entry = { name: 'work', url: 'https://a.example/work', method: 'POST', price: '$0.01' }
    const hostile = { ...entry, description: thrower, period: thrower, calls: thrower }
    const manifest = {
      name: 'A',
      handle: 'a-a',
      network: 'testnet',
      payTo: 'A',
      description: thrower,
      version: thrower,
    }
    const seller = await market.seller(() => ({
      status: 200,
      body: JSON.stringify({ ...manifest, endpoints: [hostile, entry] }),
    }))
    const { code, stdout } = await svc(['manifest', new URL(seller.url).origin])
    expect({ code, lines: stdout.match(/POST https:\/\/a\.example\/work {2}\$0\.01/g)?.length }).toEqual({
      code: 0,
      lines: 2,
    })
  })
})

describe('svc sandbox', () => {
  it('is ready to be paid on, and stops at SIGINT', async () => {
    const child = start(['sandbox', '--port', '0', '--seed', 'test', '--fault', 'verify=500:1', '--json'])
    const done = ended(child)
    const { url, algodUrl, facilitatorUrl, wallet, seller } = JSON.parse(await firstLine(child))
    for (const address of [url, algodUrl, facilitatorUrl])
      expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    const { faults } = (await (await fetch(`${url}/sandbox/faults`)).json()) as { faults: unknown[] }
    expect(faults).toMatchObject([{ stage: 'verify', behaviour: '500', times: 1 }])
    const account = await fetch(`${url}/sandbox/accounts/${wallet.address}`)
    expect(await account.json()).toMatchObject({ usdc: '100000000' })
    expect(wallet.mnemonic.split(' ')).toHaveLength(25)
    expect(seller.address).toMatch(/^[A-Z2-7]{58}$/)
    child.kill('SIGINT')
    expect(await done).toMatchObject({ code: 0, stderr: '' })
  })

  it('prints lines to paste', async () => {
    const child = start(['sandbox'])
    const done = ended(child)
    await firstLine(child)
    child.kill('SIGTERM')
    const { code, stdout } = await done
    expect(code).toBe(0)
    for (const name of [
      'SVC_SANDBOX=http://127.0.0.1:',
      'SVC_NETWORK=testnet',
      'SVC_PAY_TO=',
      "SVC_MNEMONIC='",
    ]) {
      expect(stdout).toContain(`  export ${name}`)
    }
  })
})
