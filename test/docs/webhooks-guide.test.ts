/** The receiver of the guide *Webhooks*, as it stands there: it believes what a server of ours sends, once, and nothing else. */
import { spawn } from 'node:child_process'
import { expect, it } from 'vitest'
import { defineEndpoint } from '../../src/index.js'
import { hear } from '../cli/run.js'
import { closing } from '../support/closing.js'
import { open, pay } from '../support/seller.js'
import { codeBlocks } from './code-blocks.js'

it('prints a payment once, and takes no message that nobody signed', async () => {
  const [program] = codeBlocks().filter(
    ({ file, language }) => file.endsWith('webhooks.md') && language === 'js',
  )
  const secret = `whsec_${Buffer.alloc(32, 5).toString('base64')}`
  const env = { PATH: process.env.PATH, WEBHOOK_SECRET: secret, PORT: '0' }
  const child = spawn(process.execPath, ['--input-type=module', '-e', program!.code], { env })
  closing({ close: () => child.kill('SIGKILL') })
  const said = hear(child)
  const [, port] = await said.until(/port: (\d+)/)
  const url = `http://127.0.0.1:${port}/`
  const forged = await fetch(url, {
    method: 'POST',
    headers: { 'webhook-id': 'x', 'webhook-timestamp': `${Math.floor(Date.now() / 1000)}` },
    body: JSON.stringify({ id: 'x', usd: '9' }),
  })
  expect(forged.status).toBe(401)
  const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({ done: true }) })
  const seller = await open([work], { webhooks: [{ url, secret }] })
  await pay(seller, `${seller.url}/work`)
  const [line] = await said.until(/\$\S+ for .*/)
  expect(line).toMatch(/^\$0\.01 for work of \S+ on testnet, from [A-Z2-7]{58}$/)
})
