/** The audit page as a person has it: in a real browser, with a mouse, a keyboard, a phone, at night. */
import axe from 'axe-core'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { systemClock } from '../../src/ports/clock.js'
import { openBrowser } from '../support/chromium.js'
import { closing } from '../support/closing.js'
import { ask, openSeller, pay, type Seller } from '../support/seller.js'
import { callOf, callOn, PAYER, pathTo, STARTED_MS, settledPath, txIdOf, WAYS } from './calls.js'
import { FRAME_MS, IDLE_SELECTORS, LOADED, SMALL_TEXTS, WATCH_LOADING } from './in-page.js'
import { openWatched, type Watched } from './watched.js'

interface Look {
  readonly page: Page
  /** Everything that the page asked for. */
  readonly requests: readonly string[]
  /** Errors, refused contents, warnings: a page that is well says nothing. */
  readonly said: readonly string[]
}

interface Screen {
  readonly view?: 'overview' | 'calls'
  readonly width?: number
  readonly height?: number
  readonly colorScheme?: 'light' | 'dark'
}

/** Nobody has this address: it opts in to nothing by itself. */
const PAY_TO_NOBODY = 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAY5HFKQ'

let browser: Browser
beforeAll(async () => {
  browser = await openBrowser()
}, 300_000)
afterAll(() => browser?.close())

async function look(
  url: string,
  { view = 'calls', width = 1440, height = 900, colorScheme = 'light' }: Screen = {},
): Promise<Look> {
  const context = closing(
    await browser.newContext({
      viewport: { width, height },
      colorScheme,
      timezoneId: 'Europe/Berlin',
    }),
  )
  const page = await context.newPage()
  const requests: string[] = []
  const said: string[] = []
  page.on('request', request => requests.push(request.url()))
  page.on('console', message => said.push(message.text()))
  page.on('pageerror', error => said.push(error.message))
  page.on('dialog', dialog => said.push(dialog.message()))
  await page.goto(`${url}/_svc/audit#${view}`)
  await page.getByText('live', { exact: true }).waitFor()
  return { page, requests, said }
}

async function watched(...args: Parameters<typeof openWatched>): Promise<Watched> {
  return closing(await openWatched(...args))
}

const rows = (page: Page) => page.locator('#list [role=option]')
const lit = (page: Page) =>
  page
    .locator('#drawing .lit[data-step]')
    .evaluateAll(all => all.map(drawn => drawn.getAttribute('data-step')))

describe('the page of an agent that sells', () => {
  const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({ done: true }) })
  const fail = defineEndpoint({
    name: 'fail',
    price: '$0.02',
    handler: () => {
      throw new Error('kept for the seller')
    },
  })
  let seller: Seller
  beforeAll(async () => {
    seller = await openSeller([work, fail], { audit: true })
  })
  afterAll(() => seller.close())

  it('shows calls as they end: what they earned, their way, their times, their transaction; and loads from nobody else', async () => {
    const { page, requests, said } = await look(seller.url)
    await page.getByText('No call has ended yet').waitFor()
    await ask(`${seller.url}/work`, { body: {} })
    await pay(seller, `${seller.url}/fail`, { body: {} })
    const paid = await pay(seller, `${seller.url}/work`, { body: {} })
    expect(paid.status).toBe(200)

    await expect.poll(() => rows(page).count()).toBe(2)
    await page.getByLabel('402 quotes').check()
    expect(await rows(page).count()).toBe(5)
    const counted = (step: string) => page.locator(`#drawing [data-step="${step}"] .stat`).textContent()
    await expect.poll(() => counted('pricing.unpaid')).toMatch(/^3 · /)
    expect(await counted('delivering.failed')).toMatch(/^1 · .+s$/)
    expect(await counted('settling.settled')).toMatch(/^1 · .+s$/)

    await rows(page).first().click()
    const call = seller.ended.at(-1)!
    expect(new Set(await lit(page))).toEqual(new Set(call.path))
    const run = page.locator('#run')
    expect(await run.locator('.timings tr').count()).toBe(call.path.length + 1)
    expect(await run.locator('.timings tr', { hasText: 'entitling uncovered' }).textContent()).toMatch(
      /^A window or a balance: none came with it\. entitling uncovered/,
    )
    for (const text of [call.txId!, '$0.01 (10000 base units', call.traceId])
      expect(await run.textContent()).toContain(text)

    // Testnet is played by a sandbox here: no explorer would find the transaction.
    expect(await run.locator('a').count()).toBe(0)
    await rows(page).nth(2).click()
    expect(await run.textContent()).toContain(
      'kept in development (svc dev, or NODE_ENV=development), and with audit: { token, messages: true }',
    )
    expect(await run.textContent()).not.toContain('kept for the seller')

    await page.getByRole('link', { name: 'Overview' }).click()
    await expect.poll(() => page.locator('#income').textContent()).toBe('$0.01')
    expect(await page.locator('#income-note').textContent()).toBe('1 payment')
    expect(await page.locator('#success').textContent()).toBe('50%')
    expect(await page.locator('#by-endpoint').textContent()).toBe('work$0.01')
    expect(await page.locator('#by-payer .name').getAttribute('title')).toBe(call.payer)
    await page.locator('#chargedness').selectOption('yes')
    await expect.poll(() => page.locator('#calls-legend').textContent()).toBe('charged 1')
    expect(await page.locator('#income-plot .column').getAttribute('title')).toMatch(/\nincome \$0\.01$/)
    expect(await page.locator('#income-span').textContent()).toMatch(/Europe\/Berlin \(GMT\+[12]\)/)
    const times = await page.locator('#latency-rows td').allTextContents()
    expect(times).toHaveLength(9)
    for (const time of times) expect(time).toMatch(/^\S+ (µs|ms|s)$/)
    const asked = requests.filter(address => !address.startsWith('data:'))
    expect(new Set(asked)).toEqual(new Set([`${seller.url}/_svc/audit`, `${seller.url}/_svc/audit/events`]))
    expect(said).toEqual([])
  })
})

describe('what a seller looks for', () => {
  it('finds a call by its transaction, shares it as a link, and saves what is shown', async () => {
    const { url, feed } = await watched()
    for (let number = 0; number < 60; number++) feed.ended(callOn(settledPath, 'settled', number))
    const doubt = callOn(pathTo('inDoubt', []), 'inDoubt', 60)
    feed.ended(doubt)
    const { page, said } = await look(url, { view: 'overview' })
    await expect.poll(() => page.locator('#needs-rows').textContent()).toContain('Payments in doubt: 1.')
    await page.getByRole('button', { name: 'show the last' }).click()
    await page.locator('#run h2').waitFor()
    await expect.poll(() => new URL(page.url()).hash).toBe(`#call/${doubt.id}`)

    const searched = page.getByRole('searchbox')
    await searched.fill(txIdOf(7).toLowerCase())
    await expect.poll(() => rows(page).count()).toBe(1)
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name: 'CSV' }).click()
    const chunks: Buffer[] = []
    for await (const chunk of await (await saved).createReadStream()) chunks.push(chunk as Buffer)
    expect(Buffer.concat(chunks).toString().trimEnd().split('\r\n')).toEqual([
      'time,endpoint,status,outcome,charged,usd,transaction,payer,call,ms',
      expect.stringContaining(`odd,200,settled,yes,0.01,${txIdOf(7)},${PAYER},call-7,`),
    ])
    await rows(page).first().click()
    await expect.poll(() => new URL(page.url()).hash).toBe('#call/call-7')
    const link = page.url()
    // Another person opens it: the oldest calls are below, and this one is in sight.
    await page.goto('about:blank')
    await page.goto(link)
    await page.locator('#list [aria-selected=true]').waitFor()
    expect(await page.locator('#run').textContent()).toContain(txIdOf(7))
    await page.keyboard.press('Escape')
    await expect.poll(() => new URL(page.url()).hash).toBe('#calls')
    // A link to a call that is forgotten, and one that nobody made, open the calls.
    for (const none of ['#call/none', '#call/%E0%A4%A'])
      expect(await page.goto(`${url}/_svc/audit${none}`).then(() => rows(page).first().isVisible())).toBe(
        true,
      )
    expect(said).toEqual([])
  })

  it('finds all calls of a window by its public name, which the call that bought it shows', async () => {
    const { url, feed } = await watched()
    feed.ended({ ...callOn(settledPath, 'settled', 1), window: 'a'.repeat(43) })
    feed.ended({ ...callOn(pathTo('served', []), 'served', 2), window: 'a'.repeat(43) })
    feed.ended({ ...callOn(settledPath, 'settled', 3), window: 'b'.repeat(43) })
    const { page } = await look(url)
    await page.getByRole('searchbox').fill(txIdOf(1))
    await expect.poll(() => rows(page).count()).toBe(1)
    await rows(page).first().click()
    await page.getByRole('searchbox').fill((await page.locator('#run dd.window').textContent())!)
    await expect.poll(() => rows(page).count()).toBe(2)
  })

  it('opens a payment of the overview, and seeks a payer’s calls', async () => {
    const { url, feed } = await watched()
    const other = 'OTHER'.padEnd(58, 'A')
    feed.ended(callOn(settledPath, 'settled', 1))
    feed.ended({ ...callOn(settledPath, 'settled', 2), payer: other })
    const { page } = await look(url, { view: 'overview', width: 390, height: 844 })
    await page.locator('#newest-rows button').first().click()
    await expect.poll(() => page.locator('#run').textContent()).toContain(other)
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.locator(`#by-payer [title="${PAYER}"]`).click()
    await expect.poll(() => page.locator('#income').textContent()).toBe('$0.01')
    await page.getByRole('searchbox').fill(`-${PAYER}`)
    await expect.poll(() => page.locator('#by-payer .name').getAttribute('title')).toBe(other)
  })
})

describe('what a seller owes', () => {
  it('is said in sums and by balance; the calls of one are found by its public name', async () => {
    const { url, feed } = await watched()
    const sale = {
      ...callOn(settledPath, 'settled', 1),
      amount: '5000000',
      windowEndsMs: Date.now() + 86_400_000,
    }
    const use = callOn(pathTo('counted', []), 'counted', 2)
    feed.ended({ ...sale, units: { balance: 'bought-here', sold: 5_000_000 } })
    feed.ended({ ...use, units: { balance: 'bought-here', used: 3_100, left: 4_996_900 } })
    // Sold by another process: the store's word is all there is.
    feed.ended({
      ...callOn(use.path, 'counted', 3),
      units: { balance: 'elsewhere', used: 10_000, left: 20_000 },
    })
    const { page, said } = await look(url, { view: 'overview' })
    expect(await page.locator('#owed').textContent()).toBe('$5.0169')
    expect(await page.locator('#owed-note').textContent()).toBe(
      'unspent of 2 balances: $5.00 sold, $0.0131 used, $0.00 expired',
    )
    expect(await page.locator('#by-balance b').allTextContents()).toEqual(['$4.9969', '$0.02'])
    await page.locator('#by-balance [title=bought-here]').click()
    await page.getByRole('link', { name: 'Calls' }).click()
    await expect.poll(() => rows(page).count()).toBe(2)
    await rows(page).first().click()
    expect(await page.locator('#run').innerText()).toContain('$0.0031 used, $4.9969 left')
    expect(await page.locator('#run').textContent()).toContain('counted: taken from a balance')
    expect(said).toEqual([])
  })

  it('is not said by an agent that sells no balances', async () => {
    const { url, feed } = await watched()
    feed.ended(callOn(settledPath, 'settled', 1))
    const { page } = await look(url, { view: 'overview' })
    expect(await page.locator('#owed-tile').isVisible()).toBe(false)
    expect(await page.locator('#owed-card').isVisible()).toBe(false)
  })
})

describe('the wallet', () => {
  it('that is not opted in needs a hand until it is', async () => {
    const seller = closing(
      await openSeller([defineEndpoint({ name: 'w', price: '$1', handler: () => 1 })], {
        audit: true,
        payTo: PAY_TO_NOBODY,
      }),
    )
    const { page } = await look(seller.url, { view: 'overview' })
    await expect
      .poll(() => page.locator('#needs-rows').textContent())
      .toContain('Nobody can pay your wallet. It is not opted in to USDC.')
    seller.sandbox.fund(PAY_TO_NOBODY, { optIn: true })
    await page.reload()
    await expect.poll(() => page.locator('#needs-rows').textContent()).toMatch(/^Nothing/)
  })
})

describe('while it loads', () => {
  it.each([1280, 390])('nothing moves and nothing shows before all is there, %i pixels wide', async width => {
    const { url, feed } = await watched({ agent: 'An agent with a long name' })
    for (let number = 0; number < 3_000; number++) feed.ended(callOf(number))
    const context = closing(await browser.newContext({ viewport: { width, height: 900 } }))
    const page = await context.newPage()
    await page.addInitScript(WATCH_LOADING)
    await page.goto(`${url}/_svc/audit`)
    await page.getByText('live', { exact: true }).waitFor()
    await page.locator('#income').filter({ hasText: '$' }).waitFor()
    const { shift, texts } = await page.evaluate<{ shift: number; texts: string[] }>(LOADED)
    expect(shift).toBe(0)
    expect(texts.length).toBeGreaterThan(0)
    expect(new Set(texts)).toEqual(new Set([await page.locator('#income').innerText()]))
  })
})

describe('the list', () => {
  it('is fast at 10,000 runs: a few rows exist, the newest are first, the oldest can be reached', async () => {
    const { url, feed } = await watched()
    for (let number = 0; number < 10_000; number++) feed.ended(callOf(number))
    const startedMs = performance.now()
    const { page, said } = await look(url)
    await expect
      .poll(() => page.locator('#shown').textContent())
      .toMatch(/^[\d,]+ of 10,000 calls, [\d,]+ quotes hidden$/)
    const shownMs = performance.now() - startedMs
    console.log(`10,000 runs were on the page after ${Math.round(shownMs)} ms`)
    expect(await rows(page).count()).toBeLessThan(60)
    expect(await page.locator('#run-call-9999').isVisible()).toBe(true)
    const scrolledMs = await page.evaluate<number>(FRAME_MS)
    console.log(`a frame of scrolling took ${scrolledMs.toFixed(1)} ms`)
    await page.locator('#run-call-0').waitFor()
    expect(said).toEqual([])
  })

  it('forgets the oldest beyond what is remembered, and says since when a period is whole', async () => {
    // The server's clock is far behind the browser's.
    const clock = { ...systemClock, now: () => STARTED_MS + 450_000 }
    const { url, feed } = await watched({ capacity: 100, clock })
    const { page } = await look(url)
    for (let number = 0; number < 450; number++) feed.ended(callOf(number))
    await page.locator('#run-call-449').waitFor()
    const known = Number(/ of (\d+) calls/.exec((await page.locator('#shown').textContent())!)![1])
    expect(known).toBeGreaterThanOrEqual(100)
    expect(known).toBeLessThanOrEqual(110)
    // Told after the calls, which are more than one write takes.
    await expect.poll(() => page.locator('#totals').textContent()).toContain('450 calls')
    // The period began before the oldest call that is kept.
    await page.getByLabel('Period').selectOption('last 15 minutes')
    expect(await page.locator('#shown').textContent()).toMatch(
      /^[1-9]\d+ of 1\d\d calls.*, kept since 2 Jan, 04:09$/,
    )
    await page.getByRole('link', { name: 'Overview' }).click()
    // The page is told of a followed link a moment after the click.
    await expect
      .poll(() => page.locator('#income-note').textContent())
      .toMatch(/^\d+ payments since 2 Jan, 04:09$/)
    expect(await page.locator('#income-span').textContent()).toContain('per 2 seconds')
  })

  it('is filtered by endpoint, outcome and charged, and by a final state of the drawing', async () => {
    const { url, feed } = await watched()
    const calls = Array.from({ length: WAYS }, (_, number) => callOf(number))
    for (const call of calls) feed.ended(call)
    const { page } = await look(url)
    const shown = () => page.locator('#shown').textContent()
    await expect.poll(shown).toBe(`${WAYS - 4} of ${WAYS} calls, 4 quotes hidden`)
    await page.locator('#chargedness').selectOption('yes')
    const charged = calls.filter(call => call.charged === 'yes').length
    expect(await shown()).toBe(`${charged} of ${WAYS} calls`)
    await page.getByLabel('Endpoint').selectOption('odd')
    const odd = calls.filter(call => call.charged === 'yes' && call.endpoint === 'odd')
    expect(await shown()).toBe(`${odd.length} of ${WAYS} calls`)
    await page.getByLabel('Endpoint').selectOption('')
    await page.getByLabel('Outcome').selectOption('quoted')
    expect(await shown()).toBe(`0 of ${WAYS} calls`)
    await page.getByRole('button', { name: 'Clear the filters' }).click()
    expect(await shown()).toBe(`${WAYS - 4} of ${WAYS} calls, 4 quotes hidden`)
    await page.getByLabel('Outcome').selectOption('quoted')
    expect(await shown()).toBe(`4 of ${WAYS} calls`)
    await page.getByLabel('Outcome').selectOption('')
    await page.locator('#drawing [data-final=limited] .name').first().click()
    expect(await shown()).toBe(`5 of ${WAYS} calls`)
    feed.ended(callOf(1, { final: 'limited' }))
    await expect.poll(shown).toBe(`6 of ${WAYS + 1} calls`)
    await page.getByLabel('Period').selectOption('last hour')
    expect(await shown()).toMatch(`0 of ${WAYS + 1} calls, kept since `)
  })

  it('leaves the doubt when the chain has decided: what needs a hand, the filter and the chosen call', async () => {
    const { url, feed } = await watched()
    feed.ended(callOn(settledPath, 'settled', 0))
    const doubt = { ...callOn(pathTo('inDoubt', []), 'inDoubt', 1), txId: txIdOf(1) }
    feed.ended(doubt)
    const { page, said } = await look(url)
    await page.locator('#chargedness').selectOption('maybe')
    await page.locator('#run-call-1').click()
    expect(await page.locator('#run').textContent()).toContain('in doubt: look the transaction up')
    feed.decided!(doubt.txId, false)
    await expect.poll(() => rows(page).count()).toBe(0)
    await page.locator('#chargedness').selectOption('')
    await page.locator('#run-call-1').click()
    expect(await page.locator('#run').textContent()).toContain('never landed, and never can')
    expect(await page.locator('#run-call-1').getAttribute('class')).toBe('row no')
    await page.getByRole('link', { name: 'Overview' }).click()
    await expect.poll(() => page.locator('#needs-rows').textContent()).toMatch(/^Nothing/)
    expect(said).toEqual([])
  })

  it('keeps its selection whatever is filtered, and Escape ends it from anywhere', async () => {
    const { url, feed } = await watched({ explorerUrl: 'https://explorer.example/tx/' })
    feed.ended(callOn(settledPath, 'settled', 1))
    feed.ended(callOn(pathTo('failed', []), 'failed', 2))
    const { page } = await look(url)
    const run = page.locator('#run')
    await page.locator('#run-call-1').click()
    expect(await run.getByRole('link').getAttribute('href')).toBe(`https://explorer.example/tx/${txIdOf(1)}`)
    await page.getByLabel('Outcome').selectOption('failed')
    expect(await run.textContent()).toContain(txIdOf(1))
    await page.getByLabel('Outcome').selectOption('')
    expect(await page.locator('[aria-selected=true]').getAttribute('id')).toBe('run-call-1')
    feed.ended(callOn(settledPath, 'settled', 3))
    await page.locator('#run-call-3').waitFor()
    expect(await page.locator('[aria-selected=true]').getAttribute('id')).toBe('run-call-1')
    await page.getByLabel('Endpoint').focus()
    await page.keyboard.press('Escape')
    expect(await run.isVisible()).toBe(false)
    await page.locator('#run-call-1').click()
    await run.getByRole('button', { name: 'Close' }).click()
    expect(await run.isVisible()).toBe(false)
  })

  it('is used by keyboard alone', async () => {
    const { url, feed } = await watched()
    for (let number = 0; number < 300; number++) feed.ended(callOn(settledPath, 'settled', number))
    const { page } = await look(url)
    await rows(page).first().waitFor()
    const focused = () => page.evaluate('document.activeElement.id')
    const chosen = () => page.locator('[aria-selected=true]').getAttribute('id')
    for (let presses = 0; presses < 12 && (await focused()) !== 'list'; presses++)
      await page.keyboard.press('Tab')
    expect(await focused()).toBe('list')
    await page.keyboard.press('ArrowDown')
    expect(await chosen()).toBe('run-call-299')
    await page.keyboard.press('ArrowDown')
    expect(await chosen()).toBe('run-call-298')
    expect(await page.locator('#list').getAttribute('aria-activedescendant')).toBe('run-call-298')
    await page.keyboard.press('End')
    expect(await chosen()).toBe('run-call-0')
    expect(await page.locator('#run-call-0').isVisible()).toBe(true)
    await page.keyboard.press('Home')
    expect(await chosen()).toBe('run-call-299')
    expect((await lit(page)).length).toBeGreaterThan(0)
    await page.keyboard.press('Escape')
    expect(await lit(page)).toEqual([])
    expect(await page.locator('#run').isVisible()).toBe(false)
  })
})

describe('whatever anybody said', () => {
  const script = `<img src=x onerror="alert('page')"></script><script>alert('page')</script>`

  it('is printed and never run', async () => {
    const { url, feed } = await watched({ agent: script, endpoints: [script] })
    feed.ended(callOn(settledPath, 'settled', 1))
    feed.ended({
      ...callOn(settledPath, 'settled', 2),
      endpoint: script,
      code: script,
      mismatch: script,
      txId: script,
      payer: script,
      error: script,
      logs: [{ atMs: 0, message: script, data: { [script]: script } }],
    })
    const { page, said } = await look(url)
    await rows(page).first().click()
    expect(await page.locator('#agent').textContent()).toBe(script)
    for (const place of ['.transaction', '.payer', '.error', '.logs'])
      expect(await page.locator(`#run ${place}`).textContent()).toContain(script)
    await page.getByRole('link', { name: 'Overview' }).click()
    await expect.poll(() => page.locator('#by-endpoint .name').allTextContents()).toContain(script)
    expect(await page.locator('body img, main script').count()).toBe(0)
    expect(said).toEqual([])
  })

  it('of payers is in no line for others', async () => {
    const { url, feed } = await watched()
    feed.ended(callOn(settledPath, 'settled', 7))
    const told = await fetch(`${url}/_svc/audit/runs.jsonl`)
    const text = await told.text()
    expect(text).toContain(txIdOf(7))
    expect(text).not.toContain(PAYER)
  })
})

describe('the whole page', () => {
  it.each([
    ['a desktop, in dark', 1440, 900, 'dark'],
    ['a phone, in light', 390, 844, 'light'],
  ] as const)('is on %s, and axe finds nothing', async (_, width, height, colorScheme) => {
    const { url, feed } = await watched()
    for (let number = 0; number < WAYS; number++) feed.ended(callOf(number, { error: 'TypeError: no' }))
    const { page } = await look(url, { view: 'overview', width, height, colorScheme })
    await page.locator('#calls-plot .fill').first().waitFor()
    const isWhole = async () => {
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
      expect(await page.evaluate(SMALL_TEXTS)).toEqual([])
      await page.evaluate(axe.source)
      const { violations, passes } = await page.evaluate<axe.AxeResults>('axe.run()')
      expect(passes.map(({ id }) => id)).toContain('color-contrast')
      expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]!.html}`)).toEqual([])
    }
    await isWhole()
    await page.getByRole('link', { name: 'Calls' }).click()
    await rows(page).first().click()
    await isWhole()
  })

  it('is on a small phone, whatever its endpoints are called and its income is, and is printed in dark on white', async () => {
    const endpoint = 'post/v1/organizations/any/projects/any/invoices/any/lines/any'
    const { url, feed } = await watched({ endpoints: [endpoint] })
    for (let number = 0; number < WAYS; number++)
      feed.ended(callOf(number, { endpoint, ...(number % 7 === 0 && { amount: '12345678901234' }) }))
    const { page } = await look(url, { view: 'overview', width: 320, height: 568, colorScheme: 'dark' })
    await page.locator('#needs li').getByText(endpoint).waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320)
    const wider = `[...document.querySelectorAll('#tiles dd')].filter(at => at.scrollWidth > at.clientWidth).length`
    expect(await page.evaluate(wider)).toBe(0)
    const ground = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
    const onScreen = await ground()
    await page.emulateMedia({ media: 'print' })
    expect([onScreen, await ground()]).toEqual(['rgb(13, 16, 21)', 'rgb(244, 245, 248)'])
  })

  it('shows its plots and what their colours mean where the system forces colours', async () => {
    const { url, feed } = await watched()
    for (let number = 0; number < WAYS; number++) feed.ended(callOf(number))
    const { page } = await look(url, { view: 'overview' })
    await page.emulateMedia({ forcedColors: 'active' })
    await page.locator('#calls-plot .fill').first().waitFor()
    const grounds = `[getComputedStyle(document.body), getComputedStyle(document.querySelector('#calls-plot .fill')),
      getComputedStyle(document.querySelector('.key'), '::before')].map(style => style.backgroundColor)`
    const [ground, bar, swatch] = (await page.evaluate(grounds)) as string[]
    expect([bar, swatch]).not.toContain(ground)
  })

  it('has no rule of style that nothing wears', { timeout: 120_000 }, async () => {
    const { url, feed } = await watched()
    const { page } = await look(url, { view: 'overview' })
    const idle = () => page.evaluate<string[]>(IDLE_SELECTORS)
    const always = [await idle()]
    const loading = await page.context().newPage()
    await loading.route('**/events', () => {})
    await loading.goto(`${url}/_svc/audit`)
    await loading.getByText('connecting').waitFor()
    always.push(await loading.evaluate<string[]>(IDLE_SELECTORS))
    await loading.close()
    // A page behind another draws seldom, and a click waits for what it draws.
    await page.bringToFront()
    for (let number = 0; number < WAYS; number++) feed.ended(callOf(number))
    const told = { error: 'TypeError: no', logs: [{ atMs: 0, message: 'began' }], mismatch: 'payer' }
    feed.ended({ ...callOn(settledPath, 'settled', WAYS), ...told })
    await page.getByLabel('402 quotes').check()
    // Drawn after the box was checked: the page draws twice a second, and what is hidden it does not draw.
    await page.locator('#calls-plot .quoted').first().waitFor({ state: 'attached' })
    always.push(await idle())
    await page.getByRole('link', { name: 'Calls' }).click()
    await page.locator(`#run-call-${WAYS}`).click()
    await page.locator('#run .error').waitFor()
    always.push(await idle())
    await page.locator('#chargedness').selectOption('earlier')
    await page.locator('#drawing .fold').first().waitFor()
    always.push(await idle())
    await page.getByLabel('unused exits').check()
    await page.getByLabel('Outcome').selectOption('quoted')
    always.push(await idle())
    await page.locator('#chargedness').selectOption('')
    await rows(page).first().waitFor()
    always.push(await idle())
    expect(always.reduce((some, here) => some.filter(selector => here.includes(selector)))).toEqual([])
  })
})
