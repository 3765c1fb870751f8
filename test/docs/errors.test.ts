/** The page of codes is made from the source, and has every code that the source says. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { errorCodesPage } from '../../build/error-codes.mjs'
import { OUTCOMES } from '../../src/domain/machines/charge.machine.js'
import { ROOT } from '../cli/project-folder.js'

/** Files and folders whose words_with_underscores are no codes of ours. */
const FOREIGN: Readonly<Record<string, string>> = {
  'src/audit/reconciliation/compare-with-chain.ts': 'findings of an audit',
  'src/audit/reconciliation/owed-refunds.ts': 'findings of an audit',
  'src/audit/journal/line-order-check.ts': 'findings of an audit',
  'src/adapters/facilitator/verdict-of-response.ts': 'reasons of facilitators',
  'src/audit/prometheus-metrics.ts': 'names of metrics',
  'src/facilitator/facilitator-metrics.ts': 'names of metrics',
  'src/adapters/redis/connection.ts': "Redis's own words",
  'src/facilitator/official-group-checks.ts': "reasons of facilitators, spelled as a real one's",
  'src/sandbox/agent-registry.ts': 'fields of a contract',
}

/** Words with underscores that are no codes, and why. */
const NO_CODES: Readonly<Record<string, string>> = {
  get_manifest: 'a tool',
  search_agents: 'a tool',
  node_modules: 'a folder',
  told_not_charged: 'a finding of an audit',
  illegal_path: 'a finding of an audit',
  unknown_endpoint: 'a finding of an audit',
  doubled_line: 'a finding of an audit',
  timed_out: "a health check's result",
  invalid_payload: "a facilitator's reason",
  settlement_failed: "a facilitator's reason",
  algod_ledger_round: 'a metric of a node',
  simulation_failed: "a facilitator's reason",
  not_asset_transfer: "a facilitator's reason",
  invalid_group_id: "a facilitator's reason",
  invalid_fee_payer: "a facilitator's reason",
  sponsor_fee: "a facilitator's reason",
  algod: "a node's answer, which has a message only",
  indexer: "an indexer's answer, which has a message only",
  fault: 'the body of an answer that a test asked the sandbox for',
  object: "a schema's type",
  refused_by_sandbox_fault: "a facilitator's reason",
  unexpected_settle_error: "a facilitator's reason",
}

/** What the page is made of. */
const TABLES = ['src/domain/answer-codes.ts', 'cli/error-codes.ts']

const page = readFileSync(join(ROOT, 'docs/error-codes.md'), 'utf8')

function codesInSource(): Map<string, string> {
  const found = new Map(Object.values(OUTCOMES).map(({ code }) => [code, 'the charge machine']))
  for (const folder of ['src', 'cli', 'agents']) {
    for (const file of readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })) {
      const path = join(folder, file)
      if (
        !path.endsWith('.ts') ||
        isForeign(path) ||
        path.startsWith('src/testing/') ||
        TABLES.includes(path)
      )
        continue
      for (const code of codesIn(readFileSync(join(ROOT, path), 'utf8')))
        if (!(code in NO_CODES)) found.set(code, path)
    }
  }
  return found
}

function isForeign(path: string): boolean {
  return Object.keys(FOREIGN).some(foreign => path.startsWith(foreign))
}

const ERROR_MADE =
  /\b(?:SvcError|SdkError|HttpError|BadRequest)\((?:[^()']|'[^']*'|`[^`]*`|\([^()]*\))*?,\s*'([a-z]+)'\s*[,)]/g

/** Each word with an underscore that stands in quotes, and each lone word that an error is made with. */
function codesIn(text: string): string[] {
  const underscored = [...text.matchAll(/'([a-z]+(?:_[a-z]+)+)'/g)]
  const thrown = [...text.matchAll(ERROR_MADE)]
  const coded = [...text.matchAll(/\bcode(?: =|:) '([a-z]+)'/g)]
  const said = [...text.matchAll(/\b(?:httpErrorOf|answerCode|problemOf)\('([a-z_]+)'/g)]
  return [...underscored, ...thrown, ...coded, ...said].map(([, code]) => code!)
}

it('the page is current: npm run docs', async () => {
  expect(page).toContain('| `payment_spent` | 409 |')
  expect(page).toBe(await errorCodesPage())
})

it('every code of the source is on the page', () => {
  const codes = codesInSource()
  expect(codes.size).toBeGreaterThan(60)
  const guide = readFileSync(join(ROOT, 'docs/guides/errors.md'), 'utf8')
  const missing = [...codes].filter(([code]) => !(page + guide).includes(`\`${code}\``))
  expect(missing).toEqual([])
})

it('every code of the page is in the source', () => {
  const codes = codesInSource()
  const rows = [...page.matchAll(/^\| ((?:`[a-z_]+`(?:, )?)+) \|/gm)].flatMap(
    ([, cell]) => cell!.match(/[a-z_]+/g)!,
  )
  expect(rows.length).toBeGreaterThan(60)
  expect(rows.filter(code => !codes.has(code))).toEqual([])
})

it('no exception is without use', () => {
  const texts = Object.keys(FOREIGN)
    .filter(path => path.endsWith('.ts'))
    .map(path => readFileSync(join(ROOT, path), 'utf8'))
  expect(texts.every(text => codesIn(text).length > 0)).toBe(true)
})
