/** `npm run check`, beside the other tests: by itself it kept one of two cores idle. */
import { exec } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

it('is formatted, and has its types', async () => {
  const cwd = fileURLToPath(new URL('..', import.meta.url))
  const failed = await promisify(exec)('npm run --silent check', { cwd, env: process.env }).then(
    () => '',
    ({ stdout, stderr }) => `${stdout}${stderr}`,
  )
  expect(failed).toBe('')
}, 300_000)
