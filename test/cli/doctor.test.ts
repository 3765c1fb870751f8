/** `svc doctor`: each thing that can be wrong, found and named with its cure, and nothing else with it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { algorandNode } from '../../src/checks/can-agent-be-paid.js'
import { CAIP2, TESTNET, USDC_ASSET_ID } from '../../src/domain/network.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { emptyNode } from '../support/empty-node.js'
import { type FakeNode, fakeNode } from '../support/fake-node.js'
import { svc } from './run.js'

const NOBODY = 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAY5HFKQ'
const NOWHERE = 'http://127.0.0.1:9'

let sandbox: Sandbox
const fakes: FakeNode[] = []
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(async () => {
  await Promise.all(fakes.map(fake => fake.close()))
  await sandbox.close()
})

async function nodeWith(answers: Readonly<Record<string, unknown>>): Promise<FakeNode> {
  const node = await fakeNode((path, response) => {
    const found = Object.entries(answers).find(([prefix]) => path.startsWith(prefix))
    if (!found) response.statusCode = 404
    return found?.[1] ?? { message: 'not found' }
  })
  fakes.push(node)
  return node
}

/** The checks that are not ok, and the exit code. */
async function examined(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const payTo = args.includes('--pay-to') ? [] : ['--pay-to', sandbox.seller.address]
  const { code, stdout, stderr } = await svc(['doctor', '--json', ...payTo, ...args], {
    SVC_SANDBOX: sandbox.url,
    ...env,
  })
  expect(stderr).toBe('')
  const { ok, network, findings } = JSON.parse(stdout) as {
    ok: boolean
    network: string
    findings: { check: string; status: string; message: string; cure?: string }[]
  }
  expect(ok).toBe(code === 0)
  const wrong = findings.filter(({ status }) => status !== 'ok')
  for (const { status, cure } of wrong) expect(cure !== undefined).toBe(status === 'failed')
  return {
    code,
    network,
    checks: findings.length,
    wrong: wrong.map(({ check, status }) => `${check}: ${status}`),
  }
}

describe('svc doctor', () => {
  it('finds nothing wrong with a sandbox and its seller', async () => {
    expect(await examined([])).toEqual({ code: 0, network: 'testnet', checks: 7, wrong: [] })
  })

  it('tells a person line by line, with what to do under each failure', async () => {
    const { code, stdout } = await svc(['doctor'], { SVC_SANDBOX: sandbox.url, SVC_PAY_TO: NOBODY })
    expect(code).toBe(1)
    expect(stdout).toMatch(/^Node version +ok +v\d+\.\d+\.\d+; svc dev runs /)
    expect(stdout).toMatch(
      /\nUSDC opt-in +FAILED +the account does not exist yet on testnet\n {2}-> Have 0\.201 ALGO/,
    )
    expect(stdout).toContain(`asset ${USDC_ASSET_ID.testnet}`)
  })

  const broken: [string, string[], string[]][] = [
    ['a payTo that is missing', ['--pay-to', ''], ['payTo: failed', 'USDC opt-in: skipped']],
    ['a payTo that is no address', ['--pay-to', 'ABC'], ['payTo: failed', 'USDC opt-in: skipped']],
    ['a mistyped payTo', ['--pay-to', `B${NOBODY.slice(1)}`], ['payTo: failed', 'USDC opt-in: skipped']],
    ['an account that does not exist', ['--pay-to', NOBODY], ['USDC opt-in: failed']],
    [
      'a facilitator that does not answer',
      ['--facilitator', NOWHERE],
      ['facilitator: failed', 'fee sponsorship: skipped'],
    ],
    [
      'a node that does not answer',
      ['--algod', NOWHERE],
      ['USDC opt-in: failed', 'Algorand node: failed', 'asset: failed'],
    ],
    [
      'the other network',
      ['--network', 'mainnet'],
      [
        'USDC opt-in: failed',
        'facilitator: failed',
        'fee sponsorship: skipped',
        'Algorand node: failed',
        'asset: failed',
      ],
    ],
  ]
  for (const [name, args, wrong] of broken) {
    it(`finds ${name}`, async () => {
      expect(await examined(args)).toMatchObject({ code: 1, wrong })
    })
  }

  it('finds an account that is not opted in, and one that is frozen', async () => {
    const { address } = sandbox.accounts('frozen')
    sandbox.freeze(address, true)
    for (const payTo of [sandbox.feePayer, address]) {
      expect(await examined(['--pay-to', payTo])).toMatchObject({ code: 1, wrong: ['USDC opt-in: failed'] })
    }
  })

  const onTestnet = {
    '/v2/transactions/params': {
      'last-round': 5,
      'min-fee': 1000,
      'genesis-hash': TESTNET.genesisHash,
      'genesis-id': TESTNET.genesisId,
    },
    '/v2/accounts/': { 'asset-holding': { amount: 0, 'asset-id': USDC_ASSET_ID.testnet } },
  }

  describe('for a facilitator in the agent’s process', () => {
    it('checks the sponsor, and asks no facilitator', async () => {
      const args = ['--sponsor', sandbox.feePayer, '--algod', sandbox.url]
      const { code, stdout } = await svc(
        ['doctor', '--network', 'testnet', '--pay-to', sandbox.seller.address, ...args],
        { SVC_SANDBOX: NOWHERE },
      )
      expect(stdout).toContain('in the process of the agent')
      expect(stdout).toContain(`paid by ${sandbox.feePayer}`)
      expect(code).toBe(0)
    })

    it.each<[string, string[], string[]]>([
      ['cannot pay a fee', ['--sponsor', NOBODY], ['fee sponsorship: failed']],
      ['is no address', ['--sponsor', `B${NOBODY.slice(1)}`], ['fee sponsorship: failed']],
    ])('finds a sponsor that %s', async (_, args, wrong) => {
      expect(await examined(args)).toMatchObject({ code: 1, checks: 7, wrong })
    })

    it('gives the node that --algod names its token, and no other node', async () => {
      const named = await nodeWith(onTestnet)
      const other = await nodeWith(onTestnet)
      await examined(['--algod', named.url], { SVC_ALGOD_TOKEN: 'secret' })
      await examined([], { SVC_ALGOD_TOKEN: 'secret', SVC_SANDBOX: other.url })
      const tokens = ({ headers }: FakeNode) => new Set(headers.map(one => one['x-algo-api-token']))
      expect([tokens(named), tokens(other)]).toEqual([new Set(['secret']), new Set([undefined])])
    })

    it('refuses both ways to settle at once', async () => {
      const args = ['doctor', '--sponsor', NOBODY, '--facilitator', NOWHERE]
      expect(await svc(args)).toMatchObject({ code: 2, stderr: expect.stringContaining('(invalid_options)') })
    })
  })

  it('finds a facilitator that sponsors no fees', async () => {
    const kinds = [{ x402Version: 2, scheme: 'exact', network: CAIP2.testnet }]
    const { url } = await nodeWith({ '/supported': { kinds } })
    expect(await examined(['--facilitator', url])).toMatchObject({
      code: 1,
      wrong: ['fee sponsorship: failed'],
    })
  })

  const assets: [string, unknown, string[]][] = [
    ['is USDC', { params: { 'unit-name': 'USDC', decimals: 6 } }, []],
    ['is another asset', { params: { 'unit-name': 'USDX', decimals: 6 } }, ['asset: failed']],
    ['does not exist', undefined, ['asset: failed']],
  ]
  for (const [name, asset, wrong] of assets) {
    it(`asks a real node whether the asset it quotes ${name}`, async () => {
      const { url } = await nodeWith({ ...onTestnet, ...(asset !== undefined && { '/v2/assets/': asset }) })
      expect((await examined(['--algod', url])).wrong).toEqual(wrong)
    })
  }

  it('finds a node that reports another genesis id, because payments are signed with it too', async () => {
    const params = { ...(await emptyNode().suggestedParams()), genesisId: 'sandnet-v1' }
    const suggestedParams = async () => params
    expect(await algorandNode(NOWHERE, TESTNET, { suggestedParams })).toMatchObject({
      status: 'failed',
      message: expect.stringContaining("genesis id is 'sandnet-v1', not 'testnet-v1.0'"),
    })
  })

  it('takes payTo and network from the environment, and a flag over it', async () => {
    const env = { SVC_SANDBOX: sandbox.url, SVC_PAY_TO: sandbox.seller.address, SVC_NETWORK: 'testnet' }
    expect((await svc(['doctor'], env)).code).toBe(0)
    const { code, stderr } = await svc(['doctor'], { ...env, SVC_NETWORK: 'devnet' })
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('(invalid_network)') })
  })
})
