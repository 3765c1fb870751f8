/**
 * The route of the guide for Next, in Next. It is no development dependency, because it takes 340 MB: the project of this test
 * installs it.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { hear } from '../cli/run.js'
import { installPacked, type PackedPackage } from '../support/packed-package.js'
import { freePort } from '../support/redis-server.js'
import { expectSold, PROGRAMS } from './host-guide.js'

const PACKAGES = ['next@16.4.6', 'react@19.3.1', 'react-dom@19.3.1']
const INSTALL_MS = 300_000
const ROUTE = 'app/api/agent/[...path]/route.js'
const GATED = 'app/shout/route.js'
const LAYOUT = 'export default ({ children }) => <html><body>{children}</body></html>'

let installed: PackedPackage
let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
  installed = await installPacked(...PACKAGES)
  for (const route of [ROUTE, GATED]) {
    await mkdir(dirname(join(installed.project, route)), { recursive: true })
    await writeFile(join(installed.project, route), PROGRAMS.get(route)!)
  }
  await writeFile(join(installed.project, 'app/layout.js'), LAYOUT)
}, INSTALL_MS)
afterAll(async () => {
  await installed?.close()
  await sandbox?.close()
})

/** @param program arguments of Node */
function begin(program: readonly string[], env: Record<string, string>) {
  return spawn(process.execPath, program, {
    cwd: installed.project,
    detached: true,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, NEXT_TELEMETRY_DISABLED: '1', ...env },
  })
}

it('loads without an address, as a build does', async () => {
  const loads = [ROUTE, GATED].map(
    route => `await import(${JSON.stringify(pathToFileURL(join(installed.project, route)).href)})`,
  )
  const [code] = await once(begin(['--input-type=module', '-e', loads.join('\n')], {}), 'close')
  expect(code).toBe(0)
})

it('sells a call in Next', { timeout: INSTALL_MS }, async () => {
  const port = await freePort()
  const env = { SVC_PAY_TO: sandbox.seller.address, SVC_SANDBOX: sandbox.url }
  const next = begin(['node_modules/next/dist/bin/next', 'dev', '-p', String(port)], env)
  const heard = hear(next)
  try {
    await heard.until(/Ready/)
    const agent = `http://127.0.0.1:${port}/api/agent`
    await expectSold(sandbox, `${agent}/shout`)
    await expectSold(sandbox, `http://127.0.0.1:${port}/shout`)
    const [unknown, method] = await Promise.all([
      fetch(`${agent}/elsewhere`),
      fetch(`${agent}/shout`, { method: 'PUT' }),
    ])
    expect([unknown.status, method.status]).toEqual([404, 405])
  } finally {
    // Next serves from processes of its own.
    process.kill(-next.pid!, 'SIGKILL')
    await heard.ended
  }
})
