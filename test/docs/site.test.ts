/** The site of documents, in a browser: its pages by kind, its search, and no link that leads nowhere. */
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, extname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ROOT } from '../cli/project-folder.js'
import { openBrowser } from '../support/chromium.js'
import { closing } from '../support/closing.js'
import { listen } from '../support/listen.js'

const TYPES: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' }

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-site-'))
  const args = ['--options', 'build/site.mjs', '--logLevel', 'Error', '--out', folder]
  await promisify(execFile)(join(ROOT, 'node_modules/.bin/typedoc'), args, { cwd: ROOT })
}, 180_000)
afterAll(() => rm(folder, { recursive: true, force: true }))

const pages = () =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.html'))

it('has no link that leads nowhere, and none to a file of Markdown', () => {
  const files = new Set(readdirSync(folder, { recursive: true, encoding: 'utf8' }))
  const dead = pages().flatMap(page =>
    [...readFileSync(join(folder, page), 'utf8').matchAll(/href="([^"#?]+)/g)]
      .map(([, to]) => to!)
      .filter(to => !/^[a-z]+:/.test(to))
      .filter(to => to.endsWith('.md') || !files.has(join(dirname(page), decodeURI(to))))
      .map(to => `${page}: ${to}`),
  )
  expect(pages().length).toBeGreaterThan(100)
  expect(dead).toEqual([])
})

it('has each heading that its documents link to, and the page of each exported name', () => {
  const documents = pages().filter(page => page.startsWith('documents'))
  const links = documents.flatMap(page =>
    [...readFileSync(join(folder, page), 'utf8').matchAll(/href="([^":#?]*)#([^"]+)"/g)].map(
      ([, to, id]) => ({ page, to: to === '' ? page : join(dirname(page), decodeURI(to!)), id: id! }),
    ),
  )
  const missing = links.filter(
    ({ to, id }) => !readFileSync(join(folder, to), 'utf8').includes(`id="${decodeURI(id)}"`),
  )
  expect(links.length).toBeGreaterThan(100)
  expect(missing).toEqual([])
  const options = readFileSync(join(folder, 'documents/Storage.html'), 'utf8')
  expect(options).toContain('href="../interfaces/redis.RedisStoresOptions.html"')
})

async function opened(path: string) {
  const browser = closing(await openBrowser())
  const url = await listen(
    (request, response) =>
      void readFile(join(folder, decodeURI(new URL(request.url!, 'http://site').pathname)))
        .then(body =>
          response.setHeader('content-type', TYPES[extname(request.url!.split('?')[0]!)] ?? '').end(body),
        )
        .catch(() => response.writeHead(404).end()),
  )
  const page = await browser.newPage()
  page.setDefaultTimeout(60_000)
  await page.goto(`${url}/${path}`, { waitUntil: 'networkidle' })
  return page
}

it('shows one host at a time on the page of hosts, by tab, by key and by link', async () => {
  const page = await opened('documents/In_your_own_app.html#koa-1')
  const [gate, handler] = ['Price a route: the gate', 'Mount an agent: the handler'].map(name =>
    page.getByRole('tablist', { name }),
  )
  const shown = () =>
    page.locator('[role=tabpanel]:visible').evaluateAll(panels => panels.map(each => each.ariaLabel))
  expect(await shown()).toEqual(['Koa', 'Koa'])
  await gate!.getByRole('tab', { name: 'Fastify' }).click()
  expect(await shown()).toEqual(['Fastify', 'Fastify'])
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('Enter')
  expect(await shown()).toEqual(['Next', 'Next'])
  await handler!.getByRole('tab', { name: 'Bun' }).click()
  expect(await shown()).toEqual(['Next', 'Bun'])
  await page.getByRole('table').getByRole('link', { name: 'gate' }).first().click()
  // The browser tells the page of its new address after the click has returned.
  await expect.poll(shown).toEqual(['Express', 'Express'])
})

it('shows each page under its kind, and finds a code of an error', async () => {
  const page = await opened('index.html')
  const navigation = page.locator('.site-menu')
  await navigation.getByText('Explanations', { exact: true }).waitFor()
  const shown = await navigation.innerText()
  const kinds = ['Tutorial', 'How-to guides', 'Reference', 'Explanations', 'Modules']
  const places = kinds.map(kind => shown.indexOf(kind))
  expect(places.every(place => place >= 0)).toBe(true)
  expect(places).toEqual([...places].sort((a, b) => a - b))

  await page.locator('#tsd-search-trigger').click()
  await page.waitForLoadState('networkidle')
  await page.locator('#tsd-search-input').fill('body_already_read')
  await page.locator('#tsd-search-results li').getByText('Error codes', { exact: true }).first().click()
  await page.getByRole('heading', { name: 'Requests that reach no endpoint' }).waitFor()
  expect(await page.locator('h1').first().innerText()).toBe('Error codes')

  // Its tables, the widest of all, stay in their column beside the list of headings, and on a phone.
  const rightsOf = (place: string) =>
    page.locator(place).evaluateAll(found => found.map(each => each.getBoundingClientRect().right))
  const [column] = await rightsOf('.col-content')
  const tables = await rightsOf('.col-content table')
  expect(tables.length).toBeGreaterThan(5)
  expect(Math.max(...tables)).toBeLessThanOrEqual(column!)
  await page.setViewportSize({ width: 390, height: 800 })
  expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
})
