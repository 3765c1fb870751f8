/** The pages of an agent in a real browser: on a phone and a desk, by day and by night, with hostile words in them. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHandler, defineAgent, defineEndpoint } from '../../src/index.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { faintTextsOf } from '../audit/in-page.js'
import { openBrowser } from '../support/chromium.js'
import { closing } from '../support/closing.js'
import { listen } from '../support/listen.js'

const EVIL = `</style></title>"><script>document.title='owned'</script><img src=https://evil.example/x onerror=alert(1)><base href=https://evil.example/>`
const LONG = `of${'very'.repeat(60)}long words`

let browser: Browser
let sandbox: Sandbox
beforeAll(async () => {
  ;[browser, sandbox] = await Promise.all([openBrowser(), startSandbox()])
}, 300_000)
afterAll(() => Promise.all([browser?.close(), sandbox?.close()]))

async function selling(): Promise<string> {
  const agent = defineAgent({
    name: `Shouter ${EVIL}`,
    handle: 'shouter',
    description: `Says things louder. ${EVIL}`,
    payTo: sandbox.seller.address,
    network: 'testnet',
    endpoints: [
      defineEndpoint({ name: 'shout', description: LONG, price: '$0.01', handler: () => 1 }),
      defineEndpoint({ name: 'metered', description: EVIL, price: () => '$0.02', handler: () => 1 }),
    ],
  })
  const { facilitatorUrl, algodUrl } = sandbox
  return listen(createHandler(agent, { facilitatorUrl, algodUrl }).node)
}

async function look(url: string, screen: { width?: number; colorScheme?: 'light' | 'dark' } = {}) {
  const { width = 1280, colorScheme = 'light' } = screen
  const context = closing(await browser.newContext({ viewport: { width, height: 900 }, colorScheme }))
  const page = await context.newPage()
  const requests: string[] = []
  const said: string[] = []
  page.on('request', request => requests.push(request.url()))
  page.on('console', message => said.push(message.text()))
  page.on('pageerror', error => said.push(error.message))
  page.on('dialog', dialog => said.push(dialog.message()))
  const response = await page.goto(url, { waitUntil: 'networkidle' })
  return { page, requests, said, status: response!.status() }
}

const styled = (page: Page) =>
  page.evaluate<string>(`getComputedStyle(document.querySelector('main')).maxWidth`)

describe('the landing page', () => {
  it('shows what is sold and asks for nothing else, whatever the seller’s words are', async () => {
    const url = await selling()
    const { page, requests, said, status } = await look(`${url}/`)
    expect({ status, requests, said }).toEqual({ status: 200, requests: [`${url}/`], said: [] })
    expect(await page.title()).toBe(`Shouter ${EVIL}`)
    expect(await page.locator('h1').textContent()).toBe(`Shouter ${EVIL}`)
    expect(await page.locator('article').count()).toBe(2)
    expect(await page.locator('article').first().textContent()).toContain('$0.01 per call')
    // Its own copies what stands under a button.
    expect(await page.locator('script').count()).toBe(1)
    expect(await page.locator('img, base, iframe').count()).toBe(0)
    expect(await styled(page)).not.toBe('none')
    await page.getByRole('link', { name: '/.well-known/svc.json' }).click()
    // The JSON names no icon, so Chromium asks for /favicon.ico, and says that there is none.
    await page.waitForURL(`${url}/.well-known/svc.json`)
  })

  it('leads on to an endpoint, whose address says what it costs', async () => {
    const url = await selling()
    const { page, requests, said, status } = await look(`${url}/metered?a='<script>alert(1)</script>`)
    expect(status).toBe(402)
    expect(requests.map(asked => new URL(asked).origin)).toEqual([url])
    // A browser reports every status above 399 by itself.
    expect(said.filter(line => !line.includes('402'))).toEqual([])
    expect(await page.locator('.price').textContent()).toBe('$0.02 per call')
    expect(await page.locator('pre').last().textContent()).toContain(`svc call ${url}/metered`)
    // Its own copies what stands under a button.
    expect(await page.locator('script').count()).toBe(1)
    expect(await page.locator('img, base, iframe').count()).toBe(0)
    expect(await styled(page)).not.toBe('none')
  })
})

describe.each([
  ['a phone', 360],
  ['a desk', 1280],
])('on %s', (_, width) => {
  it.each(['light', 'dark'] as const)('by %s, each page fits and can be read', async colorScheme => {
    const url = await selling()
    for (const path of ['/', '/shout', '/metered']) {
      const { page } = await look(url + path, { width, colorScheme })
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
      const texts = 'h1, h2, h3, p, li, dt, dd, code, a, button, figcaption, .price'
      expect(await page.evaluate(faintTextsOf(texts, 12))).toEqual([])
      const ground = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
      const [red] = ground.match(/\d+/)!
      if (colorScheme === 'dark') expect(Number(red)).toBeLessThan(60)
      else expect(Number(red)).toBeGreaterThan(200)
    }
  })
})
