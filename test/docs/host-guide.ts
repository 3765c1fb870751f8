/** What the guides of hosts have in common: the page's program, and a call that is paid for. */
import { expect } from 'vitest'
import { SvcClient } from '../../src/client.js'
import type { Sandbox } from '../../src/sandbox.js'
import { codeBlocks } from './code-blocks.js'

const PAGE = 'docs/guides/hosts.md'

/** The programs of the page, by the name of the file that each begins with. */
export const PROGRAMS: ReadonlyMap<string, string> = new Map(
  codeBlocks()
    .filter(({ file, language }) => file === PAGE && language === 'js')
    .map(({ code }) => [/^\/\/ (.+)$/m.exec(code)![1]!, code]),
)

/** Pays for a shout at this URL, and expects the seller to have it. */
export async function expectSold(sandbox: Sandbox, url: string): Promise<void> {
  const earned = () => sandbox.balance(sandbox.seller.address).usdc!
  const before = earned()
  const client = new SvcClient({
    mnemonic: sandbox.wallet.mnemonic,
    network: 'testnet',
    algodUrl: sandbox.algodUrl,
    strictResource: true,
  })
  const { data } = await client.call(url, { text: 'hello' })
  expect(data).toEqual({ shouted: 'HELLO' })
  expect(earned() - before).toBe(10_000n)
}
