/** What the README and the guides show is code that compiles, runs, and commands that exist. */
import { execFile, spawn } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SvcClient } from '../../src/client.js'
import * as facilitators from '../../src/facilitator.js'
import * as sdk from '../../src/index.js'
import * as redis from '../../src/redis.js'
import * as sandboxes from '../../src/sandbox.js'
import { ROOT } from '../cli/project-folder.js'
import { hear, svc } from '../cli/run.js'
import {
  type CodeBlock,
  codeBlocks,
  OFFICIAL_CLIENTS,
  TAKEN_FOR_GRANTED,
  TYPED_PACKAGES,
} from './code-blocks.js'
import { PROGRAMS } from './host-guide.js'

const run = promisify(execFile)
const blocks = codeBlocks()
const programs = blocks.filter(({ language }) => ['js', 'ts'].includes(language))

let project: string
beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), 'svc-docs-'))
  writeFileSync(join(project, 'package.json'), '{"type":"module"}')
  mkdirSync(join(project, 'node_modules/@svc'), { recursive: true })
  symlinkSync(ROOT, join(project, 'node_modules/@svc/sdk'))
})
afterAll(() => rmSync(project, { recursive: true, force: true }))

const nameOf = ({ file, line, language }: CodeBlock) =>
  `${basename(file, '.md').replaceAll('.', '-')}-${line}.${language}`

const DOORS = {
  '@svc/sdk': sdk,
  '@svc/sdk/facilitator': facilitators,
  '@svc/sdk/redis': redis,
  '@svc/sdk/sandbox': sandboxes,
}

/** A fragment leaves out what the text around it has imported already. */
function completed({ code }: CodeBlock): string {
  if (/^import /m.test(code)) return code
  const imports = Object.entries(DOORS).map(([door, exported]) => {
    const used = Object.keys(exported).filter(name => new RegExp(`\\b${name}\\b`).test(code))
    return used.length > 0 ? `import { ${used.join(', ')} } from '${door}'; ` : ''
  })
  return `${imports.join('')}${code}\nexport {}`
}

it('there are blocks of each kind, and all are found', () => {
  expect(programs.length).toBeGreaterThan(15)
  // Blocks of Python are run by `npm run interop`.
  const known = ['js', 'ts', 'sh', '', 'json', 'mermaid', 'lua', 'yaml', 'redis', 'conf', 'text', 'python']
  expect(blocks.filter(({ language }) => !known.includes(language)).map(nameOf)).toEqual([])
})

it('a client that can pay is shown with both caps, everywhere', () => {
  const shown = ['README.md', 'docs', 'templates', 'agents', 'src'].flatMap(clientsIn)
  expect(shown.length).toBeGreaterThan(12)
  expect(new Set(shown.map(({ file }) => file.split('/')[0]))).toEqual(
    new Set(['README.md', 'docs', 'templates', 'agents', 'src']),
  )
  const uncapped = shown.filter(({ made }) => !/maxPrice/.test(made) || !/maxPerDay/.test(made))
  expect(uncapped).toEqual([])
})

/** Each `new SvcClient(…)` that is given a key, with what `...caps` stands for. */
function clientsIn(place: string): { file: string; made: string }[] {
  const files = place.endsWith('.md') ? [place] : filesUnder(place)
  return files.flatMap(file => {
    const text = readFileSync(join(ROOT, file), 'utf8')
    return [...text.matchAll(/new SvcClient\((?:[^()]|\([^()]*\))*\)/g)]
      .map(({ 0: made, index }) => {
        const caps = /\bcaps = \{[^}]*\}/g
        const before = [...text.slice(0, index).matchAll(caps)].at(-1)?.[0] ?? ''
        return { file, made: made.includes('...caps') ? made + before : made }
      })
      .filter(({ made }) => /\b(mnemonic|secretKey|signer)\b/.test(made))
  })
}

function filesUnder(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter(file => /\.(md|ts|js|mjs)$/.test(file) && !file.includes('node_modules'))
    .map(file => join(folder, file))
}

it('TypeScript and JavaScript compile strictly, against the package', async () => {
  for (const block of programs) writeFileSync(join(project, nameOf(block)), completed(block))
  for (const file of ['gate.mjs', 'shouter.mjs']) writeFileSync(join(project, file), PROGRAMS.get(file)!)
  writeFileSync(join(project, 'reader.d.ts'), TAKEN_FOR_GRANTED)
  const packages = [...TYPED_PACKAGES.map(name => [name, name]), ...Object.entries(OFFICIAL_CLIENTS)]
  for (const [name, folder] of packages as [string, string][]) {
    const link = join(project, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules', folder), link)
  }
  const compilerOptions = {
    module: 'NodeNext',
    target: 'ES2022',
    noEmit: true,
    skipLibCheck: true,
    allowJs: true,
    checkJs: true,
    strict: true,
    noUncheckedIndexedAccess: true,
    types: ['node'],
    typeRoots: [join(ROOT, 'node_modules/@types')],
  }
  for (const language of ['ts', 'js']) {
    const named = programs.filter(block => block.language === language).map(nameOf)
    const files = [...named, 'reader.d.ts']
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
    const flags = ['-p', project, '--singleThreaded']
    const compiled = await run(join(ROOT, 'node_modules/.bin/tsc'), flags).catch(failed => failed)
    expect(compiled.stdout).toBe('')
  }
})

it('the test that the sandbox guide shows passes', async () => {
  const shown = programs.find(
    ({ file, code }) => file.endsWith('test-with-the-sandbox.md') && code.includes('assert'),
  )!
  const untyped = shown.code.replace(/^import type .*$/gm, '').replace(' as AddressInfo', '')
  const ran = run(process.execPath, ['--input-type=module', '-e', untyped], { cwd: project })
  expect(await ran).toEqual({ stdout: '', stderr: '' })
})

it('the agent that the first guide shows sells a call', async () => {
  const shown = programs.find(
    ({ file, code }) => file.endsWith('first-call.md') && code.startsWith('// agent.mjs'),
  )!
  writeFileSync(join(project, 'agent.mjs'), shown.code)
  const sandbox = await sandboxes.startSandbox()
  const child = spawn(process.execPath, ['agent.mjs'], {
    cwd: project,
    env: { PORT: '0', SVC_SANDBOX: sandbox.url, SVC_PAY_TO: sandbox.seller.address, SVC_NETWORK: 'testnet' },
  })
  const heard = hear(child)
  try {
    const [, port] = await heard.until(/port (\d+)/)
    const { algodUrl, wallet } = sandbox
    const client = new SvcClient({ mnemonic: wallet.mnemonic, network: 'testnet', algodUrl })
    const { data } = await client.call(`http://127.0.0.1:${port}/count`, { text: 'one two  three' })
    expect(data).toEqual({ words: 3 })
    expect(sandbox.balance(sandbox.seller.address).usdc).toBe(2_000n)
  } finally {
    child.kill('SIGTERM')
    await heard.ended
    await sandbox.close()
  }
})

describe('commands', () => {
  const lines = blocks
    .filter(({ language }) => ['sh', ''].includes(language))
    .flatMap(({ code }) => code.split('\n'))
    .flatMap(line => /^(?:[A-Z_]+=\S+ )*(?:npx --no )?svc (.+)$/.exec(line.trim())?.[1] ?? [])
  const helps = new Map<string, Promise<string>>()
  const help = (command: string) => {
    if (!helps.has(command))
      helps.set(
        command,
        svc([command, '--help']).then(({ stdout }) => stdout),
      )
    return helps.get(command)!
  }

  it('are found', () => expect(lines.length).toBeGreaterThan(8))

  for (const line of new Set(lines)) {
    it(`svc ${line} has a command and flags that exist`, async () => {
      const [command = '', ...words] = line.replace(/'[^']*'/g, 'X').split(' ')
      const told = await help(command)
      expect(told).toContain(`Usage: svc ${command}`)
      for (const flag of words.filter(word => word.startsWith('--'))) expect(told).toContain(flag)
    })
  }

  it('have their exit codes in the guide of the command line', async () => {
    const { stdout } = await svc(['--help'])
    const guide = readFileSync(join(ROOT, 'docs/guides/cli.md'), 'utf8')
    const codes = [...stdout.matchAll(/^ {2}(\d) {2}/gm)].map(([, code]) => code!)
    expect(codes).toContain('2')
    for (const code of codes) expect(guide).toContain(`\n| ${code} |`)
  })
})
