/** The browser's door in a real browser: a page of one origin pays an agent of another, with a key that it never sees. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { signingKey } from '../../src/adapters/algorand/signing-keys.js'
import type * as Door from '../../src/client.js'
import { defineEndpoint } from '../../src/index.js'
import { openBrowser } from '../support/chromium.js'
import { openSeller, type Seller } from '../support/seller.js'

declare const svc: typeof Door
declare const sign: (bytes: number[]) => Promise<number[]>

const PRICE = 20_000n
const INPUT = { type: 'object', required: ['text'], properties: { text: { type: 'string' } } } as const

let tellFirstRead = () => {}
const firstRead = new Promise<void>(resolve => {
  tellFirstRead = resolve
})

let browser: Browser
let seller: Seller
const shop = createServer((_, res) => res.setHeader('content-type', 'text/html').end('<title>a shop</title>'))
beforeAll(async () => {
  browser = await openBrowser()
  seller = await openSeller([
    defineEndpoint({
      name: 'shout',
      price: '$0.02',
      input: INPUT,
      handler: ({ body }) => ({ said: body.text.toUpperCase() }),
    }),
    defineEndpoint({
      name: 'count',
      price: '$0.02',
      stream: true,
      async *handler() {
        yield 'ä'
        yield { two: 2 }
      },
    }),
    defineEndpoint({
      name: 'break',
      price: '$0.02',
      stream: true,
      async *handler() {
        yield 'ä'
        // A browser forgets what has arrived and was not read when a stream breaks.
        await firstRead
        throw new Error('as planned')
      },
    }),
  ])
  shop.listen(0, '127.0.0.1')
  await once(shop, 'listening')
}, 600_000)
afterAll(async () => {
  await browser?.close()
  await seller?.close()
  shop.close()
})

it('quotes, pays, and reads receipt, manifest and bazaar, all across origins', async () => {
  const { address, mnemonic } = seller.sandbox.accounts('page')
  const key = signingKey(mnemonic)
  const page = await browser.newPage()
  const errors: string[] = []
  page.on('pageerror', error => errors.push(error.message))
  await page.exposeFunction('sign', (bytes: number[]) => [...key.sign(Uint8Array.from(bytes))])
  await page.goto(`http://localhost:${(shop.address() as AddressInfo).port}/`)
  await page.addScriptTag({ content: await doorAsScript() })
  const before = { payer: seller.sandbox.balance(address).usdc!, seller: balanceOfSeller() }
  const { sandbox, url } = seller
  const seen = await page.evaluate(
    async ({ url, address, algodUrl, facilitatorUrl }) => {
      const client = new svc.SvcClient({
        signer: {
          address,
          sign: async (bytes: Uint8Array) => Uint8Array.from(await sign([...bytes])),
        },
        network: 'testnet',
        algodUrl,
        maxPrice: '$0.05',
      })
      const quote = await client.quote(`${url}/shout`)
      const { data, payment } = await client.call(`${url}/shout`, { text: 'over there' })
      const bazaar = await svc.listBazaar({ facilitatorUrl })
      const verdict = await svc.verifyAgent(`${url}/.well-known/agent.json`, {
        registry: svc.algodRegistry({ algodUrl, identityApp: 1 }),
      })
      const manifest = await client.discover(url)
      // As algosdk submits: the browser asks first whether it may.
      const headers = { 'content-type': 'application/x-binary', 'x-algo-api-token': 'none' }
      const submitted = await fetch(`${algodUrl}/v2/transactions`, { method: 'POST', headers, body: 'x' })
      const settled = await fetch(`${facilitatorUrl}/settle`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      })
      const minted = await fetch(`${algodUrl}/sandbox/fund`, {
        method: 'POST',
        body: JSON.stringify({ address, usdc: 1 }),
      })
      return {
        written: [submitted.status, settled.status, minted.status],
        usd: svc.priceOf(quote.requirements!),
        data,
        payment,
        bazaar: bazaar.ok,
        verdict,
        name: manifest.name,
      }
    },
    { url, address, algodUrl: sandbox.algodUrl, facilitatorUrl: sandbox.facilitatorUrl },
  )
  expect(errors).toEqual([])
  expect(seen).toMatchObject({
    usd: 0.02,
    data: { said: 'OVER THERE' },
    bazaar: true,
    verdict: { verified: false, reason: 'invalid_url' },
    name: 'Test agent',
    written: [400, 400, 403],
  })
  expect(seen.payment?.txId).toBe(sandbox.transactions().at(-1)?.txId)
  expect(before.payer - sandbox.balance(address).usdc!).toBe(PRICE)
  expect(balanceOfSeller() - before.seller).toBe(PRICE)
})

it('reads a stream, and does not take a broken one for whole', async () => {
  const { address, mnemonic } = seller.sandbox.accounts('page of streams')
  const key = signingKey(mnemonic)
  const page = await browser.newPage()
  await page.exposeFunction('sign', (bytes: number[]) => [...key.sign(Uint8Array.from(bytes))])
  await page.exposeFunction('tellFirstRead', tellFirstRead)
  await page.goto(`http://localhost:${(shop.address() as AddressInfo).port}/`)
  await page.addScriptTag({ content: await doorAsScript() })
  const before = seller.sandbox.balance(address).usdc!
  const seen = await page.evaluate(
    async ({ url, address, algodUrl }) => {
      const client = new svc.SvcClient({
        signer: { address, sign: async (bytes: Uint8Array) => Uint8Array.from(await sign([...bytes])) },
        network: 'testnet',
        algodUrl,
      })
      const read = async (name: string, onEvent = () => {}) => {
        const found: unknown[] = []
        const { events } = await client.stream(`${url}/${name}`, {})
        try {
          for await (const { data } of events()) {
            found.push(data)
            onEvent()
          }
        } catch (error) {
          found.push((error as { code: string }).code)
        }
        return found
      }
      return [await read('count'), await read('break', tellFirstRead)]
    },
    { url: seller.url, address, algodUrl: seller.sandbox.algodUrl },
  )
  expect(seen).toEqual([
    ['ä', { two: 2 }],
    ['ä', 'stream_broken'],
  ])
  expect(before - seller.sandbox.balance(address).usdc!).toBe(2n * PRICE)
})

function balanceOfSeller(): bigint {
  return seller.sandbox.balance(seller.sandbox.seller.address).usdc!
}

async function doorAsScript(): Promise<string> {
  const bundled = await build({
    stdin: {
      contents: "export * from '@svc/sdk/client'",
      resolveDir: fileURLToPath(new URL('../..', import.meta.url)),
    },
    bundle: true,
    platform: 'browser',
    format: 'iife',
    globalName: 'svc',
    write: false,
    logLevel: 'silent',
  })
  return bundled.outputFiles[0]!.text
}
