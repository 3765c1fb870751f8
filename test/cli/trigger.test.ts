/** `svc trigger`: every case against an agent that keeps the rules, and what it says of one that does not. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { targetAt } from '../../cli/dev/first-call.js'
import { defineEndpoint } from '../../src/index.js'
import { CASE_NAMES, CASES } from '../../src/trigger/cases.js'
import { brokenIn } from '../../src/trigger/play.js'
import { openSeller, type Seller } from '../support/seller.js'
import { ended, start, svc } from './run.js'

let seller: Seller
beforeAll(async () => {
  seller = await openSeller(
    [
      defineEndpoint({ name: 'echo', price: '$0.01', handler: ({ body }) => body }),
      defineEndpoint({
        name: 'fails',
        price: '$0.01',
        handler: () => {
          throw new Error('no')
        },
      }),
    ],
    {
      idempotency: { onLostResponse: 'replay' },
      // settle-unknown waits for as long as the agent does.
      advanced: { timeouts: { certaintyMs: 6_000, reconcilePauseMs: 20 } },
    },
  )
})
afterAll(() => seller?.close())

const env = () => ({ SVC_SANDBOX: seller.sandbox.url })

describe('svc trigger', () => {
  it('plays every case, counts what each cost, and leaves no fault behind', async () => {
    const { code, stdout, stderr } = await svc(['trigger', 'all', seller.url, '--json'], env())
    const played = stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(played.flatMap(({ broken }) => broken)).toEqual([])
    expect([code, stderr]).toEqual([0, ''])
    expect(played.map(({ case: name }) => name)).toEqual(CASE_NAMES)
    const costs = Object.fromEntries(
      played.map(({ case: name, chargedBaseUnits }) => [name, chargedBaseUnits]),
    )
    expect(costs).toMatchObject({ unpaid: '0', paid: '10000', replay: '10000', 'settle-never': '0' })
    expect(seller.sandbox.faults.list()).toEqual([])
  })

  it('gets a lost answer by a proof of its payer, from an agent without any option', async () => {
    const plain = await openSeller([
      defineEndpoint({ name: 'echo', price: '$0.01', handler: ({ body }) => body }),
    ])
    const forgetful = await openSeller(
      [defineEndpoint({ name: 'echo', price: '$0.01', handler: ({ body }) => body })],
      { keepAnswers: false },
    )
    try {
      for (const name of ['retry', 'hang-up']) {
        const kept = await svc(['trigger', name, plain.url], { SVC_SANDBOX: plain.sandbox.url })
        expect(kept.stdout).toMatch(/409 payment_spent[\s\S]+200 replayed[\s\S]+charged \$0\.01/)
        expect(kept.stdout).not.toContain('lost')
      }
      const lost = await svc(['trigger', 'retry', forgetful.url], { SVC_SANDBOX: forgetful.sandbox.url })
      expect([lost.code, lost.stdout]).toEqual([0, expect.stringContaining('keepAnswers is off')])
    } finally {
      await Promise.all([plain, forgetful].map(each => each.close()))
    }
  })

  it('asks the agent only for its manifest where the user says what to send', async () => {
    const asked: unknown[] = []
    const listen = ({ url }: { url?: string }) => asked.push(url)
    seller.server.prependListener('request', listen)
    const target = await targetAt(seller.url, 'testnet', { endpoint: 'echo', body: '{"a":1}' })
    seller.server.off('request', listen)
    expect(target).toEqual({ url: `${seller.url}/echo`, body: '{"a":1}' })
    expect(asked).toEqual(['/.well-known/svc.json'])
  })

  it('fails where a rule does not hold', async () => {
    const { code, stdout, stderr } = await svc(
      ['trigger', 'paid', seller.url, '--endpoint', 'fails', '--body', '{}'],
      env(),
    )
    expect(code).toBe(1)
    expect(stdout).toContain('  POST /fails  500 handler_error')
    expect(stdout).toContain('NOT AS PROMISED')
    expect(stdout).toContain('answer 1 was 500 handler_error; expected: answered')
    expect(stderr).toBe('svc: The rules did not hold: paid (rule_broken)\n')
  })

  it('refuses a sandbox that has a fault already, one that is none, and an agent that is not there', async () => {
    seller.sandbox.faults.set('verify', 'hang')
    const faulty = await svc(['trigger', 'paid', seller.url], env())
    seller.sandbox.faults.clear()
    expect([faulty.code, faulty.stderr]).toEqual([2, expect.stringContaining('verify=hang')])
    const [none, gone] = await Promise.all([
      svc(['trigger', 'paid', seller.url], { SVC_SANDBOX: seller.url }),
      svc(['trigger', 'paid', 'http://127.0.0.1:9'], env()),
    ])
    expect(none.stderr).toContain('(sandbox_unavailable)')
    expect(gone.stderr).toContain('No agent answers at http://127.0.0.1:9')
  })

  it.each(['SIGINT', 'SIGTERM'] as const)('takes its fault out of the sandbox at %s', async signal => {
    const child = start(['trigger', 'settle-unknown', seller.url], env())
    await expect.poll(() => seller.sandbox.faults.list(), { timeout: 30_000 }).toHaveLength(1)
    child.kill(signal)
    expect((await ended(child)).code).toBe(1)
    expect(seller.sandbox.faults.list()).toEqual([])
  })

  it('lists the cases', async () => {
    const { stdout } = await svc(['trigger', '--list'])
    for (const name of CASE_NAMES) expect(stdout).toMatch(new RegExp(`^${name} +\\S`, 'm'))
  })
})

describe('a rule', () => {
  const answer = (status: number, end: string) => ({ status, end, ms: 1 })
  const [answered, spent] = [answer(200, 'answered'), answer(409, 'payment_spent')]
  it.each<[string, keyof typeof CASES, ReturnType<typeof answer>[], bigint, number]>([
    ['is kept', 'replay', [answered, spent], 5n, 0],
    ['is broken by a second answer', 'replay', [answered, answered], 5n, 1],
    ['is broken by a second charge', 'replay', [answered, spent], 10n, 1],
    ['is broken by a gift', 'paid', [answered], 0n, 1],
    ['is broken by a charge for a failure', 'verify-down', [answer(503, 'facilitator_unavailable')], 5n, 1],
    [
      'allows either end of an unknown',
      'settle-unknown',
      [answer(503, 'settlement_unknown'), answered],
      5n,
      0,
    ],
    [
      'forbids the quote after a charge',
      'settle-unknown',
      [answer(503, 'settlement_unknown'), answer(402, 'x')],
      5n,
      1,
    ],
    [
      'forbids the answer without one',
      'settle-unknown',
      [answer(503, 'settlement_unknown'), answered],
      0n,
      1,
    ],
  ])('%s', (_, name, answers, paid, wrong) => {
    expect(brokenIn(CASES[name], answers, paid, 5n)).toHaveLength(wrong)
  })
})
