/** The dashboard and the alerts ask for what a running server exports, by its names and labels. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createFacilitator, facilitatorApp } from '../../src/facilitator.js'
import { defineEndpoint } from '../../src/index.js'
import { eventually } from '../support/eventually.js'
import { openSeller, pay, type Seller } from '../support/seller.js'

const dashboard = readFileSync('docs/observability/grafana.json', 'utf8')
const alerts = readFileSync('docs/observability/alerts.yml', 'utf8')

const NAME = /\b(?:svc|nodejs|process)_[a-z0-9_]+/g
const LABELS = /\{([^{}]*=[^{}]*)\}|\bby \(([^)]*)\)/g
/** What Prometheus itself adds, and what a histogram's own series have. */
const GIVEN = new Set(['instance', 'le'])

let seller: Seller
let folder: string
const names = new Set<string>()
const labels = new Set<string>(GIVEN)
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-observability-'))
  const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({}) })
  seller = await openSeller([work], { journal: join(folder, 'runs.jsonl') })
  await pay(seller, `${seller.url}/work`, { body: {} })
  // Calls are counted once Prometheus' library is loaded, which the first of them starts.
  const counted = async () => {
    const text = await (await fetch(`${seller.url}/metrics`)).text()
    expect(text).toContain('svc_requests_total{')
    return text
  }
  const metrics = (await eventually(counted)) + (await facilitatorMetrics())
  for (const line of metrics.split('\n')) {
    const series = /^([a-z0-9_]+)(?:\{(.*)\})? /.exec(line)
    if (series === null || line.startsWith('#')) continue
    names.add(series[1]!)
    for (const [, label] of (series[2] ?? '').matchAll(/(\w+)="/g)) labels.add(label!)
  }
})
afterAll(async () => {
  await seller.close()
  await rm(folder, { recursive: true })
})

/** After a question that it refuses, so that its counter has a series. */
async function facilitatorMetrics(): Promise<string> {
  const { sandbox } = seller
  const sponsor = { mnemonic: sandbox.wallet.mnemonic }
  const facilitator = createFacilitator({
    network: 'testnet',
    algodUrl: sandbox.algodUrl,
    sponsor,
    payTo: 'anyone',
  })
  const server = facilitatorApp(facilitator).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await fetch(`${url}/verify`, { method: 'POST', body: '{"paymentPayload":{},"paymentRequirements":{}}' })
  const metrics = await (await fetch(`${url}/metrics`)).text()
  server.closeAllConnections()
  server.close()
  await facilitator.close()
  return metrics
}

const expressions: string[] = [
  ...JSON.parse(dashboard).panels.flatMap((panel: { targets: { expr: string }[] }) =>
    panel.targets.map(({ expr }) => expr),
  ),
  ...alerts
    .split(/^ +expr: /m)
    .slice(1)
    .map(text => text.split(/^ +(?:for|labels): /m)[0]!),
]

describe('the dashboard and the alerts', () => {
  it('have expressions at all', () => expect(expressions.length).toBeGreaterThan(15))

  it.each(expressions)('%s: is of metrics and labels that are exported', expression => {
    const asked = expression.match(NAME) ?? []
    expect(asked.length).toBeGreaterThan(0)
    expect(asked.filter(name => !names.has(name))).toEqual([])
    const used = [...expression.matchAll(LABELS)].flatMap(([, matchers, by]) =>
      by === undefined
        ? [...matchers!.matchAll(/(\w+)\s*[=!]/g)].map(([, label]) => label!)
        : by.split(/,\s*/),
    )
    expect(used.filter(label => !labels.has(label))).toEqual([])
  })

  it('between them ask for every metric of ours', () => {
    const ours = [...names]
      .filter(name => name.startsWith('svc_'))
      .map(name => name.replace(/_(bucket|sum|count)$/, ''))
    const all = dashboard + alerts
    expect([...new Set(ours)].filter(name => !all.includes(name))).toEqual([])
  })

  it('the alerts each have a name, an expression, a severity and what to do', () => {
    const rules = alerts.split('- alert: ').slice(1)
    expect(rules.length).toBe(10)
    for (const rule of rules) {
      for (const part of ['expr:', 'severity:', 'summary:', 'description:']) expect(rule).toContain(part)
    }
  })
})
