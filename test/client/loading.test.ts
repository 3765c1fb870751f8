/** Which modules the built package loads into a process that imports the client. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

it('loads nothing of a server', async () => {
  const lister = fileURLToPath(new URL('loaded-modules.mjs', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [lister, '@svc/sdk/client'])
  const loaded = stdout.trim().split('\n')
  expect(loaded.some(url => url.endsWith('/dist/src/client.js'))).toBe(true)
  expect(loaded.some(url => url.includes('/node_modules/algosdk/'))).toBe(true)
  const packages = new Set(loaded.flatMap(url => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []))
  for (const name of ['koa', '@koa/router', 'ajv', 'ioredis', 'xstate', 'commander', 'prom-client']) {
    expect(packages).not.toContain(name)
  }
})
