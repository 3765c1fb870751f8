/** Routes that a gate or new terms of `svc sell` add after the start are sold by the agent: its own audit knows them. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openBooks } from '../../src/audit/audit-journals.js'
import { createGate, defineEndpoint } from '../../src/index.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { closing } from '../support/closing.js'
import { ask, challengeIn, open, pay, presenting, signQuote } from '../support/seller.js'
import { soldUpstream } from '../support/sold-upstream.js'

async function findings(sandbox: Sandbox, where: Partial<Parameters<typeof openBooks>[0]>) {
  const node = () => ({ url: sandbox.algodUrl })
  const remotes = () => ({ algod: node, indexer: node })
  const period = { fromMs: 0, toMs: Date.UTC(2120, 0) }
  const books = await openBooks({ files: [], remotes, period, ...where })
  const { runs, differences } = await books.audit({})
  return { runs, findings: differences.map(({ finding, endpoint }) => `${finding} ${endpoint}`) }
}

it('by a gate that sells balances too, beside another agent of its address', async () => {
  const sandbox = closing(await startSandbox())
  const folder = await mkdtemp(join(tmpdir(), 'svc-gate-journal-'))
  closing({ close: () => rm(folder, { recursive: true }) })
  const journal = join(folder, 'gate.jsonl')
  const balance = { amounts: ['$1'], period: '90d' }
  const payTo = sandbox.seller.address
  const about = {
    name: 'Gate',
    handle: 'gate',
    description: 'Sells.',
    payTo,
    network: 'testnet',
    balance,
  } as const
  const { facilitatorUrl, algodUrl } = sandbox
  const gate = createGate(about, { facilitatorUrl, algodUrl, journal })
  const route = gate.fetch({ path: '/work', methods: 'POST', price: '$0.01' }, () =>
    Response.json({ done: true }),
  )
  const url = 'http://gate.example/work'
  const unpaid = await route(new Request(url, { method: 'POST' }))
  const headers = presenting(await signQuote({ sandbox }, challengeIn(unpaid)))
  expect((await route(new Request(url, { method: 'POST', headers }))).status).toBe(200)
  await gate.shutdown()
  const other = join(folder, 'other.jsonl')
  const agent = await open([defineEndpoint({ name: 'other', price: '$0.01', handler: () => 'sold' })], {
    sandbox,
    journal: other,
  })
  expect((await pay(agent, `${agent.url}/other`)).status).toBe(200)
  await agent.server.shutdown('read')
  // The chain has the payments to both: they are read together.
  for (const files of [
    [journal, other],
    [other, journal],
  ])
    expect(await findings(sandbox, { files })).toEqual({ runs: 2, findings: [] })
})

it('by terms that are read again, on the audit page', async () => {
  const routes = [{ route: 'GET /old', price: '$0.01' }]
  const sold = closing(await soldUpstream({ routes }, { audit: true }))
  sold.server.reload({ ...sold.terms, routes: [...routes, { route: 'GET /new', price: '$0.01' }] })
  const answer = await pay(sold as never, `${sold.url}/new`, { method: 'GET' })
  expect(answer.status).toBe(200)
  const page = (await ask(`${sold.url}/_svc/audit/runs.jsonl`, { method: 'GET' })).body!
  expect(await findings(sold.sandbox, { remembered: [page as never] })).toEqual({ runs: 2, findings: [] })
})
