/** Each program of the page about hosts runs as it stands: it sells a call over HTTP, leaves other paths, and stops. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { ROOT } from '../cli/project-folder.js'
import { hear } from '../cli/run.js'
import { type PackedPackage, unpackPacked } from '../support/packed-package.js'
import { freePort } from '../support/redis-server.js'
import { type RuntimeName, runtimePath } from '../support/runtimes.js'
import { workerdConfig } from '../support/workerd.js'
import { TYPED_PACKAGES, UNTYPED_PACKAGES } from './code-blocks.js'
import { expectSold, PROGRAMS } from './host-guide.js'

const INSTALL_MS = 900_000

interface Guide {
  readonly name: string
  /** @default the Node that runs the tests */
  readonly runtime?: RuntimeName
  readonly prefix: string
  /** Arguments before the file. */
  readonly run?: readonly string[]
  readonly notFound: string
}

const OURS = 'There is no such path here'
const THEIRS = 'there is nothing here'
const PERMISSIONS = ['--allow-net', '--allow-env', '--allow-read', '--allow-sys']

const GUIDES: readonly Guide[] = [
  { name: 'node-http', prefix: '', notFound: OURS },
  { name: 'express', prefix: '/paid', notFound: THEIRS },
  { name: 'koa', prefix: '/paid', notFound: THEIRS },
  { name: 'hono', prefix: '/paid', notFound: THEIRS },
  { name: 'fastify', prefix: '/paid', notFound: THEIRS },
  { name: 'express-gate', prefix: '', notFound: 'Cannot GET' },
  { name: 'koa-gate', prefix: '', notFound: 'Not Found' },
  { name: 'hono-gate', prefix: '', notFound: '404 Not Found' },
  { name: 'fastify-gate', prefix: '', notFound: 'Route GET' },
  { name: 'bun', runtime: 'bun', prefix: '', notFound: OURS },
  {
    name: 'deno',
    runtime: 'deno',
    prefix: '',
    run: ['run', ...PERMISSIONS, '--node-modules-dir=manual'],
    notFound: OURS,
  },
]

let packed: PackedPackage
let sandbox: Sandbox
let env: Record<string, string>
beforeAll(async () => {
  sandbox = await startSandbox()
  packed = await unpackPacked()
  const modules = join(packed.project, 'node_modules')
  for (const name of [...TYPED_PACKAGES, ...UNTYPED_PACKAGES]) {
    await mkdir(dirname(join(modules, name)), { recursive: true })
    await rm(join(modules, name), { force: true })
    await symlink(join(ROOT, 'node_modules', name), join(modules, name))
  }
  for (const [file, code] of PROGRAMS)
    if (file.endsWith('.mjs')) await writeFile(join(packed.project, file), code)
  env = { SVC_PAY_TO: sandbox.seller.address, SVC_SANDBOX: sandbox.url }
}, INSTALL_MS)
afterAll(async () => {
  await packed?.close()
  await sandbox?.close()
})

function begin(program: string, args: readonly string[], more: Record<string, string> = {}): ChildProcess {
  return spawn(program, args, {
    cwd: packed.project,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env, ...more },
  })
}

it('each program has a test', () => {
  const ran = GUIDES.map(({ name }) => `${name}.mjs`)
  const others = [
    'gate.mjs',
    'shouter.mjs',
    'worker.mjs',
    'app/shout/route.js',
    'app/api/agent/[...path]/route.js',
  ]
  expect([...PROGRAMS.keys()].sort()).toEqual([...ran, ...others].sort())
})

describe.each(GUIDES)('the guide of $name', ({ name, runtime, prefix, run = [], notFound }) => {
  it('sells a call, and stops on SIGTERM', { timeout: INSTALL_MS }, async () => {
    const file = `${name}.mjs`
    const port = await freePort()
    const program = runtime === undefined ? process.execPath : await runtimePath(runtime)
    const child = begin(program, [...run, file], { PORT: String(port) })
    const heard = hear(child)
    try {
      await heard.until(/listening/i)
      await expectSold(sandbox, `http://127.0.0.1:${port}${prefix}/shout`)
      const unknown = await fetch(`http://127.0.0.1:${port}/elsewhere`)
      expect([unknown.status, await unknown.text()]).toEqual([404, expect.stringContaining(notFound)])
      if (name.endsWith('-gate'))
        for (const [path, status] of [
          ['/health', 404],
          ['/metrics', 404],
          ['/_svc/health', 200],
        ] as const)
          expect([path, (await fetch(`http://127.0.0.1:${port}${path}`)).status]).toEqual([path, status])
      child.kill('SIGTERM')
      expect(await heard.ended).toBe(0)
    } finally {
      child.kill('SIGKILL')
    }
  })
})

it('the guide of workers sells a call, in workerd', { timeout: INSTALL_MS }, async () => {
  const objects = { className: 'Seller', binding: 'SELLER' }
  const config = await workerdConfig({ folder: packed.project, entry: 'worker.mjs', env, objects })
  const child = begin(await runtimePath('workerd'), ['serve', '--control-fd=1', config])
  const heard = hear(child)
  try {
    const [, port] = await heard.until(/"port":(\d+)/)
    await expectSold(sandbox, `http://127.0.0.1:${port}/shout`)
    expect((await fetch(`http://127.0.0.1:${port}/elsewhere`)).status).toBe(404)
  } finally {
    child.kill('SIGKILL')
    await heard.ended
  }
})
