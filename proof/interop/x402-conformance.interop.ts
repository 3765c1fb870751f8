/** x402-conformance over our 402 answers and over our sandbox's facilitator. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { LONG_ID } from '../../test/support/official.js'
import { openSeller, type Seller } from '../../test/support/seller.js'
import { runModule } from './python-peer.js'

const MAIN = 'import sys; from x402conf.cli import main; sys.exit(main())'

interface Check {
  readonly check: string
  readonly pass: boolean
  readonly severity: string
  readonly detail?: unknown
}

describe('x402-conformance', () => {
  let sandbox: Sandbox
  let seller: Seller
  let short: Seller
  beforeAll(async () => {
    sandbox = await startSandbox()
    const endpoints = [
      defineEndpoint({ name: 'square', method: 'GET', price: '$0.01', handler: () => ({ square: 49 }) }),
      defineEndpoint({
        name: 'priced',
        method: 'GET',
        price: ({ query }) => `$0.0${query.n ?? 1}`,
        handler: () => ({ priced: true }),
      }),
      defineEndpoint({
        name: 'window',
        method: 'GET',
        subscription: { price: '$0.05', period: '1d' },
        handler: () => ({ in: true }),
      }),
    ]
    seller = await openSeller(endpoints, { sandbox })
    short = await openSeller(endpoints, { sandbox, advanced: { networkIds: 'short' } })
  })
  afterAll(async () => {
    await seller.close()
    await short.close()
    await sandbox.close()
  })

  const SOLD = ['square', 'priced', 'window']
  const asked = async (command: string, url: string) => {
    const { stdout, stderr } = await runModule('current', MAIN, [command, url])
    const checks = checksIn(stdout)
    expect(checks.length, stderr).toBeGreaterThan(3)
    return checks
  }

  it.each(SOLD)('P1 to P7 hold for GET /%s with the 32-character id alone', async name => {
    const checks = await asked('resource', `${short.url}/${name}`)
    expect(failed(checks)).toEqual([])
  })

  it.each(SOLD)('of GET /%s with both ids, only the 44-character one is no CAIP-2', async name => {
    const checks = await asked('resource', `${seller.url}/${name}`)
    expect(failed(checks).map(({ check }) => check.slice(0, 2))).toEqual(['P4'])
    expect(failed(checks)[0]!.detail).toMatchObject({
      problems: [{ index: 1, network: LONG_ID, problems: ['network is not CAIP-2'] }],
    })
  })

  it('S0 to S4 hold for the sandbox’s facilitator, but for the 44-character id', async () => {
    const checks = await asked('live', sandbox.facilitatorUrl)
    expect(failed(checks).map(({ check }) => check.slice(0, 2))).toEqual(['S2'])
    expect(failed(checks)[0]!.detail).toMatchObject({ non_caip2: [LONG_ID] })
  })
})

/** All that did not pass, warnings too. */
function failed(checks: readonly Check[]): readonly Check[] {
  return checks.filter(({ pass }) => !pass)
}

function checksIn(stdout: string): readonly Check[] {
  return within(JSON.parse(stdout))
}

function within(value: unknown): Check[] {
  if (Array.isArray(value)) return value.flatMap(within)
  if (typeof value !== 'object' || value === null) return []
  if ('check' in value && 'pass' in value) return [value as Check]
  return Object.values(value).flatMap(within)
}
