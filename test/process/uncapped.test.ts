/** A client that pays whatever is quoted says so once a process. It also replaces a module, so its modules are its own. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { signingKey } from '../../src/adapters/algorand/signing-keys.js'
import { type ClientOptions, SvcClient } from '../../src/client.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
afterAll(() => sandbox.close())

/** What the process was warned of, and what was printed as in a browser, while this ran. */
async function warnings(make: () => void) {
  const heard: string[] = []
  const hear = (warning: Error & { code?: string }) => heard.push(`${warning.code}: ${warning.message}`)
  const { warn } = console
  console.warn = (text: string) => heard.push(`console: ${text}`)
  process.on('warning', hear)
  make()
  // Node emits warnings on the next tick.
  await new Promise(setImmediate)
  process.off('warning', hear)
  console.warn = warn
  return heard
}

it('a key for mainnet without any cap is warned of once, in Node and in browsers', async () => {
  const { mnemonic, address } = sandbox.accounts('uncapped')
  const signer = { address, sign: signingKey(mnemonic).sign }
  const quiet: ClientOptions[] = [
    {},
    { mnemonic, maxPrice: '$1' },
    { mnemonic, maxPerDay: '$1' },
    { mnemonic, network: 'testnet' },
    { network: 'mainnet' },
  ]
  for (const options of quiet) expect(await warnings(() => new SvcClient(options))).toEqual([])
  const inNode = await warnings(() => [new SvcClient({ mnemonic }), new SvcClient({ signer })])
  expect(inNode).toEqual([expect.stringMatching(/^SVC_UNCAPPED: .*maxPrice.*maxPerDay/)])

  vi.resetModules()
  vi.doMock('#platform', () => import('../../src/adapters/platform/browser.js'))
  const { SvcClient: BrowserClient } = await import('../../src/client.js')
  expect(await warnings(() => new BrowserClient({ signer, maxPrice: '$1' }))).toEqual([])
  const inBrowsers = await warnings(() => [new BrowserClient({ signer }), new BrowserClient({ signer })])
  expect(inBrowsers).toEqual([expect.stringMatching(/^console: .*maxPrice.*maxPerDay/)])
})
