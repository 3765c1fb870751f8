/** The audit page as a person has it: in a real browser, with a mouse, a keyboard, a phone, at night. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { openBrowser } from '../support/chromium.js'
import { closing } from '../support/closing.js'
import { ask, openSeller, pay, type Seller } from '../support/seller.js'
import { callOf, callOn, PAYER, settledPath, txIdOf, WAYS } from './calls.js'
import { FAINT_TEXTS, FRAME_MS, widthsOf } from './in-page.js'
import { openWatched, type Watched } from './watched.js'

interface Look {
  readonly page: Page
  /** Everything that the page asked for. */
  readonly requests: readonly string[]
  /** Errors, refused contents, warnings: a page that is well says nothing. */
  readonly said: readonly string[]
}

interface Screen {
  readonly width?: number
  readonly height?: number
  readonly colorScheme?: 'light' | 'dark'
}

let browser: Browser
beforeAll(async () => {
  browser = await openBrowser()
}, 300_000)
afterAll(() => browser?.close())

async function look(
  url: string,
  { width = 1440, height = 900, colorScheme = 'light' }: Screen = {},
): Promise<Look> {
  const context = closing(await browser.newContext({ viewport: { width, height }, colorScheme }))
  const page = await context.newPage()
  const requests: string[] = []
  const said: string[] = []
  page.on('request', request => requests.push(request.url()))
  page.on('console', message => said.push(message.text()))
  page.on('pageerror', error => said.push(error.message))
  page.on('dialog', dialog => said.push(dialog.message()))
  await page.goto(`${url}/_svc/audit`)
  await page.getByText('live', { exact: true }).waitFor()
  return { page, requests, said }
}

async function watched(...args: Parameters<typeof openWatched>): Promise<Watched> {
  return closing(await openWatched(...args))
}

const rows = (page: Page) => page.locator('#list [role=option]')
const lit = (page: Page) =>
  page
    .locator('svg.wide .lit[data-step]')
    .evaluateAll(all => all.map(drawn => drawn.getAttribute('data-step')))

describe('the page of an agent that sells', () => {
  const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({ done: true }) })
  const fail = defineEndpoint({
    name: 'fail',
    price: '$0.02',
    handler: () => {
      throw new Error('no')
    },
  })
  let seller: Seller
  beforeAll(async () => {
    seller = await openSeller([work, fail], { audit: true })
  })
  afterAll(() => seller.close())

  it('shows calls as they end, their way, their times, their transaction; and no payer, from nobody else', async () => {
    const { page, requests, said } = await look(seller.url)
    await page.getByText('No call has ended yet').waitFor()
    await ask(`${seller.url}/work`, { body: {} })
    await pay(seller, `${seller.url}/fail`, { body: {} })
    const paid = await pay(seller, `${seller.url}/work`, { body: {} })
    expect(paid.status).toBe(200)

    await expect.poll(() => rows(page).count()).toBe(5)
    await expect.poll(() => page.locator('#charged').textContent()).toBe('1')
    expect(await page.locator('#taken').textContent()).toBe('$0.01')
    const counted = (step: string) => page.locator(`svg.wide [data-step="${step}"] .stat`).textContent()
    await expect.poll(() => counted('pricing.unpaid')).toMatch(/^3 · /)
    expect(await counted('delivering.failed')).toMatch(/^1 · .+s$/)
    expect(await counted('settling.settled')).toMatch(/^1 · .+s$/)

    await rows(page).first().click()
    const call = seller.ended.at(-1)!
    expect(new Set(await lit(page))).toEqual(new Set(call.path))
    const run = page.locator('#run')
    expect(await run.locator('.timings tr').count()).toBe(call.path.length + 1)
    for (const text of [call.txId!, '$0.01 (10000 base units', call.traceId])
      expect(await run.textContent()).toContain(text)

    expect(await page.content()).not.toContain(call.payer!)
    expect(new Set(requests)).toEqual(
      new Set([`${seller.url}/_svc/audit`, `${seller.url}/_svc/audit/events`]),
    )
    expect(said).toEqual([])
  })
})

describe('the list', () => {
  it('is fast at 10,000 runs: a few rows exist, the newest are first, the oldest can be reached', async () => {
    const { url, feed } = await watched()
    for (let number = 0; number < 10_000; number++) feed.ended(callOf(number))
    const startedMs = performance.now()
    const { page, said } = await look(url)
    await expect.poll(() => page.locator('#shown').textContent()).toBe('10,000 of 10,000 runs')
    const shownMs = performance.now() - startedMs
    console.log(`10,000 runs were on the page after ${Math.round(shownMs)} ms`)
    expect(await rows(page).count()).toBeLessThan(60)
    expect(await page.locator('#run-call-9999').isVisible()).toBe(true)
    const scrolledMs = await page.evaluate<number>(FRAME_MS)
    console.log(`a frame of scrolling took ${scrolledMs.toFixed(1)} ms`)
    await page.locator('#run-call-0').waitFor()
    expect(said).toEqual([])
  })

  it('forgets the oldest beyond what is remembered', async () => {
    const { url, feed } = await watched({ capacity: 100 })
    const { page } = await look(url)
    for (let number = 0; number < 450; number++) feed.ended(callOf(number))
    await page.locator('#run-call-449').waitFor()
    const shown = Number((await page.locator('#shown').textContent())!.split(' ')[0])
    expect(shown).toBeGreaterThanOrEqual(100)
    expect(shown).toBeLessThanOrEqual(110)
    expect(await page.locator('#calls').textContent()).toBe('450')
  })

  it('is filtered by endpoint, outcome and charged, and by a final state of the drawing', async () => {
    const { url, feed } = await watched()
    const calls = Array.from({ length: WAYS }, (_, number) => callOf(number))
    for (const call of calls) feed.ended(call)
    const { page } = await look(url)
    const shown = () => page.locator('#shown').textContent()
    await expect.poll(shown).toBe(`${WAYS} of ${WAYS} runs`)
    await page.getByLabel('Charged').selectOption('yes')
    const charged = calls.filter(call => call.charged === 'yes').length
    expect(await shown()).toBe(`${charged} of ${WAYS} runs`)
    await page.getByLabel('Endpoint').selectOption('odd')
    const odd = calls.filter(call => call.charged === 'yes' && call.endpoint === 'odd')
    expect(await shown()).toBe(`${odd.length} of ${WAYS} runs`)
    await page.getByLabel('Endpoint').selectOption('')
    await page.getByLabel('Outcome').selectOption('quoted')
    expect(await shown()).toBe(`0 of ${WAYS} runs`)
    expect(await page.getByText('No run is like this').isVisible()).toBe(true)
    await page.getByLabel('Charged').selectOption('')
    expect(await shown()).toBe(`4 of ${WAYS} runs`)
    await page.locator('svg.wide [data-final=limited] .name').first().click()
    expect(await shown()).toBe(`5 of ${WAYS} runs`)
    feed.ended(callOf(1, { final: 'quoted' }))
    await expect.poll(shown).toBe(`5 of ${WAYS + 1} runs`)
  })

  it('is used by keyboard alone', async () => {
    const { url, feed } = await watched()
    for (let number = 0; number < 300; number++) feed.ended(callOf(number))
    const { page } = await look(url)
    await rows(page).first().waitFor()
    const focused = () => page.evaluate('document.activeElement.id')
    const chosen = () => page.locator('[aria-selected=true]').getAttribute('id')
    for (let presses = 0; presses < 8 && (await focused()) !== 'list'; presses++)
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
    })
    const { page, said } = await look(url)
    await rows(page).first().click()
    expect(await page.locator('#agent').textContent()).toBe(script)
    expect(await page.locator('#run .transaction').textContent()).toContain(script)
    expect(await page.locator('body img').count()).toBe(0)
    expect(said).toEqual([])
  })

  it('of payers is nowhere', async () => {
    const { url, feed } = await watched()
    feed.ended(callOn(settledPath, 'settled', 7))
    const told = await fetch(`${url}/_svc/audit/runs.jsonl`)
    const text = await told.text()
    expect(text).toContain(txIdOf(7))
    expect(text).not.toContain(PAYER)
  })
})

describe.each(['light', 'dark'] as const)('in %s', colorScheme => {
  it.each([
    ['a desktop', 1440, 900, 'svg.wide', 'svg.narrow'],
    ['a phone', 390, 844, 'svg.narrow', 'svg.wide'],
  ])('%s shows the whole of it, and what is written can be read', async (_, width, height, shown, hidden) => {
    const { url, feed } = await watched()
    for (let number = 0; number < WAYS; number++) feed.ended(callOf(number))
    const { page } = await look(url, { width, height, colorScheme })
    await rows(page).first().click()
    expect(await page.locator(shown).isVisible()).toBe(true)
    expect(await page.locator(hidden).isVisible()).toBe(false)
    const [pageWidth, drawing] = await page.evaluate<[number, number]>(widthsOf(shown))
    expect(pageWidth).toBe(width)
    expect(drawing).toBeGreaterThan(width * 0.6)
    expect(await page.evaluate(FAINT_TEXTS)).toEqual([])
  })
})
