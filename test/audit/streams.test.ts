/** The books of a seller of streams, while a stream runs and after it broke. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { indexedTransfers } from '../../src/audit/reconciliation/incoming-transfers.js'
import { owedRefunds } from '../../src/audit/reconciliation/owed-refunds.js'
import { defineEndpoint } from '../../src/index.js'
import { svc } from '../cli/run.js'
import { eventually } from '../support/eventually.js'
import { gate } from '../support/gate.js'
import { readJournals } from '../support/journals.js'
import { ask, openSeller, type Seller, signFor } from '../support/seller.js'

const PRICE = 10_000n
/** Each look reads journal and chain, on a machine that may be busy. */

let folder: string
let path: string
let door: ReturnType<typeof gate>
let seller: Seller
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-streams-'))
  path = join(folder, 'runs.jsonl')
  door = gate()
  async function* source() {
    yield 'one'
    await door.opened
    yield 'two'
  }
  const stream = { stream: true, handler: source } as const
  seller = await openSeller(
    [
      defineEndpoint({ name: 'work', price: '$0.01', ...stream }),
      defineEndpoint({ name: 'window', subscription: { price: '$0.01', period: '30d' }, ...stream }),
      defineEndpoint({
        name: 'breaks',
        subscription: { price: '$0.01', period: '30d' },
        stream: true,
        async *handler() {
          yield 'one'
          throw new Error('as planned')
        },
      }),
    ],
    { journal: path, audit: true },
  )
})
afterEach(async () => {
  await seller.close()
  await rm(folder, { recursive: true })
})

/** The books an hour from now: no call can be at work by then, and a stream can. */
const books = () =>
  owedRefunds({
    journal: () => readJournals([path]),
    transfers: () => indexedTransfers({ url: seller.sandbox.url }),
    nowMs: () => Date.now() + 3_500_000,
  })
type Books = Awaited<ReturnType<typeof books>>
const takenIn = ({ books: { days } }: Books) =>
  days.reduce((sum, { takenBaseUnits }) => sum + takenBaseUnits, 0n)
const findingsIn = ({ books: { differences } }: Books) => differences.map(({ finding }) => finding)
const reasonsIn = (list: Books['refunds']) => list.map(({ reason }) => reason)

async function begun(endpoint: string, signal?: AbortSignal): Promise<Response> {
  const url = `${seller.url}/${endpoint}`
  const headers = await signFor(seller, url, { body: {} })
  const answer = await ask(url, { body: {}, headers, ...(signal && { signal }) })
  expect(answer.status).toBe(200)
  return answer
}

it('have the payment of a stream while it runs, once, and how it ended when it has', async () => {
  const caller = new AbortController()
  const left = await begun('work', caller.signal)
  const whole = await begun('work')
  await eventually(async () => expect(takenIn(await books())).toBe(2n * PRICE))
  const running = await books()
  expect([findingsIn(running), reasonsIn(running.refunds), reasonsIn(running.mayBeKept)]).toEqual([
    [],
    [],
    [],
  ])
  const page = await svc(['audit', seller.url, '--to', '2120-01-01'], { SVC_SANDBOX: seller.sandbox.url })
  expect(page).toMatchObject({ code: 0, stdout: expect.stringContaining('2, $0.02') })

  const broken = seller.nextEnded()
  caller.abort()
  await expect(left.text()).rejects.toThrow()
  expect(await broken).toMatchObject({ streamBroken: true, brokenBy: 'caller', amount: String(PRICE) })
  const ended = seller.nextEnded()
  door.open()
  await whole.text()
  expect(await ended).not.toHaveProperty('streamBroken')
  await eventually(async () => expect(reasonsIn((await books()).mayBeKept)).toEqual(['stream_left']))
  const over = await books()
  expect([findingsIn(over), reasonsIn(over.refunds), takenIn(over)]).toEqual([[], [], 2n * PRICE])
  expect(seller.ended.filter(({ final }) => final === 'settled')).toHaveLength(2)
})

it('list a window whose first stream broke apart from what is owed', async () => {
  const ended = seller.nextEnded()
  const answer = await begun('breaks')
  expect(answer.headers.get('x-svc-subscription')).toBeTruthy()
  await expect(answer.text()).rejects.toThrow()
  const endsMs = Date.parse(answer.headers.get('x-svc-subscription-expires')!)
  await ended
  expect(seller.ended.at(-1)).toMatchObject({ brokenBy: 'seller', windowEndsMs: endsMs })
  await eventually(async () => expect((await books()).mayBeKept).toHaveLength(1))
  const { code, stdout } = await svc(['refunds', path, '--to', '2120-01-01'], {
    SVC_SANDBOX: seller.sandbox.url,
  })
  expect(code).toBe(0)
  expect(stdout).toMatch(/^yours to decide {2}\$0\.01 in USDC to /m)
  expect(stdout).toContain(`window   ends ${new Date(endsMs).toISOString()}`)
  expect(stdout).toContain('Nothing is owed')
})

it('say that the seller broke a stream whose server stops, and are whole when it has stopped', async () => {
  const answer = await begun('window')
  const shutdown = seller.server.shutdown('deploy')
  await expect(answer.text()).rejects.toThrow()
  await shutdown
  const { mayBeKept, books: report } = await books()
  expect(reasonsIn(mayBeKept)).toEqual(['window_sold'])
  expect(report).toMatchObject({ differences: [], lost: 0, unreadable: 0 })
  expect(seller.ended.at(-1)).toMatchObject({ streamBroken: true, brokenBy: 'seller' })
})
