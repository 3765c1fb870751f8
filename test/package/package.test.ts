/** The package as a stranger gets it: packed, installed into an empty project, and compiled against. */
import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { installPacked, type PackedPackage } from '../support/packed-package.js'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))

let packed: PackedPackage
let project: string

beforeAll(async () => {
  packed = await installPacked()
  project = packed.project
}, 180_000)
afterAll(() => packed?.close())

it('holds what users need and nothing else', () => {
  const { files, packedBytes } = packed
  const allowed = [
    'README.md',
    'LICENSE',
    'CHANGELOG.md',
    'package.json',
    'ARCHITECTURE.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    'proof/',
    'deploy/',
    'docker-compose.yml',
    'llms.txt',
    'dist/src/',
    'dist/lib/',
    'build/prepare.mjs',
    'docs/',
    'templates/',
  ]
  const isAllowed = (file: string) =>
    allowed.some(entry => (entry.endsWith('/') ? file.startsWith(entry) : file === entry))
  expect(files.filter(file => !isAllowed(file))).toEqual([])
  expect(files).toEqual(
    expect.arrayContaining(['README.md', 'LICENSE', 'dist/lib/index.js', 'dist/src/index.d.ts']),
  )
  console.log(`packed: ${packedBytes} bytes in ${files.length} files`)
  expect(files.filter(file => /^dist\/src\/.*\.js$/.test(file))).toEqual([])
  expect(packedBytes).toBeLessThan(1_100_000)
})

it('is what publint and "are the types wrong" want of a package of ES modules', async () => {
  const bytes = new Uint8Array(await readFile(packed.tarball))
  const { messages } = await publint({ pack: { tarball: bytes.buffer }, strict: true })
  expect(messages.map(({ code }) => code)).toEqual([])
  const entrypoints = ['.', './client']
  const checked = await checkPackage(createPackageFromTarballData(bytes), { entrypoints })
  const problems = 'problems' in checked ? checked.problems : [{ kind: 'no types' }]
  // Node's own `require` of ES modules works from 20.19 on; resolution before `exports` ended with Node 12.
  const ofOldLoaders = new Set(['CJSResolvesToESM', 'NoResolution'])
  expect(problems.filter(({ kind }) => !ofOldLoaders.has(kind))).toEqual([])
})

it('compiles a TypeScript consumer against its types, bodies inferred from schemas', async () => {
  await cp(join(root, 'test/package/consumer.ts'), join(project, 'consumer.ts'))
  expect(await compiled('consumer.ts')).toBe('')
})

it('has the types of Koa where these are installed, and brings none', async () => {
  const program = `
    import { createServer, type AgentDef } from '@svc/sdk'
    export const app = (agent: AgentDef) => createServer(agent).use(async (ctx, next) => {
      ctx.status = 204
      // @ts-expect-error: a status is a number
      ctx.status = '204'
      await next()
    })
  `
  await writeFile(join(project, 'koa.ts'), program)
  expect(await compiled('koa.ts')).toContain("Parameter 'ctx' implicitly has an 'any' type")
  await mkdir(join(project, 'node_modules/@types'))
  await symlink(join(root, 'node_modules/@types/koa'), join(project, 'node_modules/@types/koa'))
  expect(await compiled('koa.ts')).toBe('')
})

it('under the condition of bundlers for browsers, takes a signer and no key', async () => {
  const program = `
    import { SvcClient } from '@svc/sdk/client'
    new SvcClient({ signer: { address: 'A', sign: bytes => bytes }, network: 'testnet' })
    // @ts-expect-error: keys stay in a wallet
    new SvcClient({ mnemonic: 'words' })
  `
  await writeFile(join(project, 'page.ts'), program)
  expect(await compiled('page.ts', ['browser'])).toBe('')
})

/** What the compiler complains of. */
async function compiled(file: string, customConditions: readonly string[] = []): Promise<string> {
  await writeFile(
    join(project, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: {
        module: 'NodeNext',
        target: 'ES2022',
        strict: true,
        noEmit: true,
        skipLibCheck: false,
        types: ['node'],
        typeRoots: [join(root, 'node_modules/@types')],
        customConditions,
      },
      files: [file],
    }),
  )
  const { stdout } = await run(join(root, 'node_modules/.bin/tsc'), ['-p', project]).catch(failed => failed)
  return stdout
}

it('runs from the empty project: doors open, the command answers', async () => {
  const script = `
    const doors = ['@svc/sdk', '@svc/sdk/client', '@svc/sdk/sandbox']
    for (const door of doors) console.log(door, Object.keys(await import(door)).length > 0)
  `
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], { cwd: project })
  expect(stdout.match(/true/g)).toHaveLength(3)
  const version = await run(join(project, 'node_modules/.bin/svc'), ['--version'])
  expect(version.stdout.trim()).toBe('0.1.0')
})
