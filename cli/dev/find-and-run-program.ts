/** Finds the agent's program, runs it, and restarts it at each change of its sources, until a signal stops `svc dev`. */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { extname, relative, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import type { Duplex, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { isRecord, SvcError } from '../../src/domain/index.js'
import { TYPESCRIPT_SINCE, typeScriptFlags } from '../package.js'
import { MEMORY_FD } from './memory-over-restarts.js'
import { LENT_SDK, SOURCES_FD } from './module-hooks.js'
import type { Report } from './preloaded-reporter.js'
import type { SourceChanges } from './source-changes.js'

export interface Program {
  readonly path: string
  readonly shown: string
  readonly nodeFlags: readonly string[]
}

/** Look for sources before `main`: in a project that is built, `main` names the build's output. */
const PLACES = ['src/index', 'index', 'agent']
const EXTENSIONS = ['.ts', '.mts', '.js', '.mjs']
const TYPESCRIPT = new Set(['.ts', '.mts', '.cts'])

export function programAt(named: string | undefined): Program {
  const path = resolve(named ?? conventional())
  const shown = relative('', path)
  if (!isFile(path)) throw new SvcError(`There is no file ${shown}`, 'entry_not_found')
  if (!TYPESCRIPT.has(extname(path))) return { path, shown, nodeFlags: [] }
  const nodeFlags = typeScriptFlags()
  if (nodeFlags) return { path, shown, nodeFlags }
  throw new SvcError(
    `${shown} is TypeScript, which Node ${process.versions.node} does not run: use Node ${TYPESCRIPT_SINCE} or ` +
      'newer, or build it and name the .js file',
    'typescript_unsupported',
  )
}

function conventional(): string {
  const candidates = PLACES.flatMap(place => EXTENSIONS.map(extension => place + extension))
  const found = candidates.find(isFile) ?? mainOfPackage()
  if (found !== undefined) return found
  const places = PLACES.map(place => `${place}.ts`).join(', ')
  throw new SvcError(
    `No entry here: name one, or have ${places} (or .js), or "main" in package.json`,
    'entry_not_found',
  )
}

function mainOfPackage(): string | undefined {
  if (!isFile('package.json')) return undefined
  try {
    const value: unknown = JSON.parse(readFileSync('package.json', 'utf8'))
    return isRecord(value) && typeof value.main === 'string' ? value.main : undefined
  } catch {
    throw new SvcError('package.json is not JSON', 'entry_not_found')
  }
}

function isFile(path: string): boolean {
  return existsSync(path) && statSync(path).isFile()
}

interface DevLoop {
  readonly entry: Program
  readonly env: NodeJS.ProcessEnv
  readonly changes?: SourceChanges
  readonly interruption: Interruption
  onReport(report: Report): void
  onSource(path: string, signature: string): void
  /** The agent's folder has no `@svc/sdk`, and it got that of this command line. */
  onLentSdk(): void
  say(line: string): void
}

const NEVER = new Promise<never>(() => {})

/** Returns the agent's exit code; 0 where the agent ended by the signal that this loop sent. */
export async function runDevLoop(loop: DevLoop): Promise<number> {
  const { entry, env, changes, interruption, onLentSdk, say } = loop
  let memory: Buffer = Buffer.alloc(0)
  const interrupted = interruption.first.then(signal => ({ signal }))
  for (;;) {
    const agent = startAgent(entry, env, memory, {
      ...loop,
      onSource(line) {
        const [url, signature = ''] = line.split(' ')
        if (url === LENT_SDK) onLentSdk()
        else loop.onSource(fileURLToPath(url!), signature)
      },
    })
    interruption.onAgain(agent.signal)
    const changed = changes?.next().then(() => 'changed' as const) ?? NEVER
    const ended = agent.ended.then(code => ({ code }))

    const first = await Promise.race([interrupted, changed, ended])
    if (first === 'changed') {
      say(`${entry.shown}: sources changed, starting anew`)
      await agent.stop('SIGTERM')
    } else if ('signal' in first) {
      await agent.stop(first.signal)
      return (await agent.ended) ?? 0
    } else {
      if (!changes) return first.code ?? 1
      say(
        `${entry.shown} ended with ${first.code === null ? 'a signal' : `code ${first.code}`}; waiting for a change`,
      )
      await Promise.race([interrupted, changed])
    }
    if (interruption.hasCome) return 0
    memory = (await agent.memory) ?? memory
  }
}

/** `serve` lets running calls finish for 30 s, and then cuts them. A restart must not cut a payment. */
const PATIENCE_MS = 35_000
const ANNOUNCE = new URL('./preloaded-reporter.js', import.meta.url).href

function startAgent(
  { path, nodeFlags }: Program,
  env: NodeJS.ProcessEnv,
  memory: Buffer,
  { onReport, onSource }: Pick<DevLoop, 'onReport'> & { onSource(line: string): void },
) {
  const child = spawn(process.execPath, [...nodeFlags, '--import', ANNOUNCE, path], {
    env,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc', 'pipe', 'pipe'],
    // A terminal sends Ctrl-C to its whole foreground group. In a separate group the agent receives one signal, from
    // this process. To the agent, a second signal means "stop at once".
    detached: true,
  })
  child.on('message', message => {
    // The agent's own code may send messages, too.
    if (isRecord(message) && KINDS.some(kind => kind in message)) onReport(message as never)
  })
  createInterface({ input: child.stdio[SOURCES_FD] as Readable }).on('line', onSource)
  const kept = (child.stdio as readonly unknown[])[MEMORY_FD] as Duplex
  // An agent that does not take what it is given has ended.
  kept.on('error', () => {}).end(memory)
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject).once('exit', code => resolve(code))
  })
  return {
    ended,
    /** What the agent's stores had when it ended; nothing where it was killed. */
    memory: buffer(kept).then(
      given => (given.length > 0 ? given : undefined),
      () => undefined,
    ),
    signal: (signal: NodeJS.Signals) => void child.kill(signal),
    /** Asks the process to end. If it does not end within its own shutdown time and a margin, kills it. */
    async stop(signal: NodeJS.Signals) {
      child.kill(signal)
      const patience = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS)
      await ended
      clearTimeout(patience)
    },
  }
}

const KINDS = ['svcDevPort', 'svcDevCall', 'svcDevFailure', 'svcDevLog']

type Interruption = ReturnType<typeof interruption>

/** `npm run` forwards a signal that the terminal has sent already, so one Ctrl-C arrives twice. */
const SAME_KEY_MS = 500

export function interruption() {
  let hurry: ((signal: NodeJS.Signals) => void) | undefined
  let firstMs: number | undefined
  const first = new Promise<NodeJS.Signals>(resolve => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.on(signal, () => {
        firstMs ??= performance.now()
        resolve(signal)
        if (performance.now() - firstMs > SAME_KEY_MS) hurry?.(signal)
      })
  })
  return {
    first,
    get hasCome() {
      return firstMs !== undefined
    },
    onAgain(act: (signal: NodeJS.Signals) => void) {
      hurry = act
    },
  }
}
