/** The README's first program, run as it stands there, and paid. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { SvcClient } from '../../src/client.js'
import { startSandbox } from '../../src/sandbox.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

it('the first program of the README serves, quotes and is paid', async () => {
  const readme = await readFile(join(root, 'README.md'), 'utf8')
  const program = /```js\n(\/\/ agent\.mjs\n[\s\S]*?)```/.exec(readme)![1]!
  const sandbox = await startSandbox()
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: root,
    env: { ...process.env, PORT: '0', SVC_SANDBOX: sandbox.url, SVC_PAY_TO: sandbox.seller.address },
  })
  try {
    const [said] = await once(child.stdout!, 'data')
    const port = /port (\d+)/.exec(String(said))![1]
    const client = new SvcClient({
      mnemonic: sandbox.wallet.mnemonic,
      network: 'testnet',
      algodUrl: sandbox.algodUrl,
    })
    const { data } = await client.call(`http://127.0.0.1:${port}/shout`, { text: 'hello' })
    expect(data).toEqual({ shouted: 'HELLO' })
    expect(sandbox.balance(sandbox.seller.address).usdc).toBe(10_000n)
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([0, null])
  } finally {
    child.kill('SIGKILL')
    await sandbox.close()
  }
})
