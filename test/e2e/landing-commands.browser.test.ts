/** What the pages for people offer to copy, in a real browser on a narrow phone: it fits, and works as it was copied. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { projectFolder } from '../cli/project-folder.js'
import { MAIN } from '../cli/run.js'
import { openBrowser } from '../support/chromium.js'
import { openSeller, type Seller } from '../support/seller.js'

const run = promisify(execFile)
const PHONE = { width: 320, height: 640 }
const COMMANDS = ['Ask for the price, free', 'Pay, in a program', 'Pay, in a terminal'] as const

let browser: Browser
let seller: Seller
const project = projectFolder({}, true)
beforeAll(async () => {
  browser = await openBrowser()
  const properties = { text: { type: 'string' as const, examples: ['it\'s <b>me</b> & "you"'] } }
  seller = await openSeller([
    defineEndpoint({
      name: 'a-long-name-of-an-endpoint/that-does-not-fit-a-line',
      price: '$0.01',
      input: { type: 'object', required: ['text'], properties },
      handler: ({ body }) => ({ said: (body as { text: string }).text }),
    }),
  ])
})
afterAll(async () => {
  await browser?.close()
  project.remove()
})

async function shown(path: string, clipboard = true) {
  const context = await browser.newContext({
    viewport: PHONE,
    hasTouch: true,
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  const page = await context.newPage()
  // Pages that do not come by https have none.
  if (!clipboard)
    await page.addInitScript(`Object.defineProperty(navigator, 'clipboard', { value: undefined })`)
  const errors: string[] = []
  page.on('console', message => void (message.type() === 'error' && errors.push(message.text())))
  page.on('pageerror', error => void errors.push(String(error)))
  await page.goto(seller.url + path)
  return { context, page, errors: () => errors.filter(text => !text.includes('402')) }
}

async function copied(page: Page, what: string): Promise<string> {
  const figure = page.locator('figure', { hasText: what })
  await figure.getByRole('button', { name: 'Copy' }).tap()
  await figure.getByRole('button', { name: 'Copied' }).waitFor()
  const reader = await page.context().newPage()
  await reader.goto(`${seller.url}/.well-known/svc.json`)
  await reader.bringToFront()
  const text: string = await reader.evaluate('navigator.clipboard.readText()')
  await reader.close()
  return text
}

const environment = () => ({
  PATH: process.env.PATH,
  SVC_SANDBOX: seller.sandbox.url,
  SVC_MNEMONIC: seller.sandbox.wallet.mnemonic,
})

describe.each(['/', '/a-long-name-of-an-endpoint/that-does-not-fit-a-line'])('the page at %s', path => {
  it('fits a phone, shows the schema of the input, and what a person with a wallet does', async () => {
    const { context, page, errors } = await shown(path)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.width)
    const wide = `[...document.querySelectorAll('pre, button')].filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).length`
    await page.getByText('Schema of its input').first().tap()
    expect(await page.evaluate(wide)).toBe(0)
    expect(await page.locator('details pre').first().innerText()).toContain('"required"')
    expect(await page.locator('main').innerText()).toContain('Send no money to the address by hand')
    for (const button of await page.getByRole('button').all())
      expect((await button.boundingBox())!.height).toBeGreaterThanOrEqual(44)
    expect(errors()).toEqual([])
    await context.close()
  })

  it('copies commands that work', async () => {
    const { context, page, errors } = await shown(path)
    const [curl, program, command] = [
      await copied(page, COMMANDS[0]),
      await copied(page, COMMANDS[1]),
      await copied(page, COMMANDS[2]),
    ]
    expect(errors()).toEqual([])
    await context.close()
    const asked = await run('sh', ['-c', curl])
    expect(asked.stdout).toMatch(/^HTTP\/1\.1 402 .*\nPAYMENT-REQUIRED: /s)
    const said = { said: 'it\'s <b>me</b> & "you"' }
    project.write('buy.mjs', program)
    const bought = await run(process.execPath, [join(project.path, 'buy.mjs')], { env: environment() })
    expect(JSON.parse(bought.stdout)).toEqual(said)
    const node = `svc() { '${process.execPath}' '${MAIN}' "$@"; }; ${command}`
    const called = await run('sh', ['-c', node], { env: environment() })
    expect(JSON.parse(called.stdout)).toEqual(said)
  })
})

it('copies where the browser gives the page no clipboard', async () => {
  const { context, page } = await shown('/', false)
  const figure = page.locator('figure', { hasText: COMMANDS[0] })
  expect(await copied(page, COMMANDS[0])).toBe(await figure.locator('code').textContent())
  await context.close()
})
