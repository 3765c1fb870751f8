/** The program of the guide *Sell by usage*, as it stands there: a stream that is charged by the token. */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startSandbox } from '../../src/sandbox.js'
import { ROOT } from '../cli/project-folder.js'
import { hear } from '../cli/run.js'
import { closing } from '../support/closing.js'
import { ask, pay, type Seller } from '../support/seller.js'
import { codeBlocks } from './code-blocks.js'

it('sells a balance, and takes by the token from it', async () => {
  const project = mkdtempSync(join(tmpdir(), 'svc-usage-guide-'))
  closing({ close: () => rmSync(project, { recursive: true, force: true }) })
  mkdirSync(join(project, 'node_modules/@svc'), { recursive: true })
  symlinkSync(ROOT, join(project, 'node_modules/@svc/sdk'))
  const sandbox = closing(await startSandbox())
  const [program] = codeBlocks().filter(
    ({ file, language }) => file.endsWith('sell-by-usage.md') && language === 'js',
  )
  const env = {
    PATH: process.env.PATH,
    SVC_SANDBOX: sandbox.url,
    SVC_PAY_TO: sandbox.seller.address,
    PORT: '0',
  }
  const child = spawn(process.execPath, ['--input-type=module', '-e', program!.code], { cwd: project, env })
  closing({ close: () => child.kill('SIGKILL') })
  const [, port] = await hear(child).until(/port (\d+)/)
  const url = `http://127.0.0.1:${port}`
  const sale = await pay({ sandbox } as Seller, `${url}/balance`, { body: { amount: '$1' } })
  const key = sale.headers.get('x-svc-balance-key')!
  const complete = (prompt: string, call: string) =>
    ask(`${url}/complete`, {
      body: { prompt, tokens: 100 },
      headers: { 'x-svc-balance-key': key, 'idempotency-key': call },
    })
  const answer = await complete('one two three', 'call-1')
  expect([answer.status, answer.headers.get('x-svc-reserved')]).toEqual([200, '2000'])
  expect((await answer.text()).match(/token/g)).toHaveLength(3)
  let calls = 2
  const next = async () => (await complete('', `call-${calls++}`)).headers.get('x-svc-balance')
  await expect.poll(next).toBe('999940')
  expect(sandbox.balance(sandbox.seller.address).usdc).toBe(1_000_000n)
})
