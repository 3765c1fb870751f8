/** Runs the built command line as its users do: in a process of its own, with nothing of ours in its environment. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { expect } from 'vitest'
import { bundled } from '../support/bundled.js'
import { calledHere } from './called-here.js'

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Where {
  readonly cwd?: string
  /** A Node binary; ours by default. */
  readonly node?: string
}

type Environment = Readonly<Record<string, string>>

export const MAIN = await bundled('dist/cli/main.js')

/** They end when all that they were asked for is done. */
const ENDING = new Set([
  ...['audit', 'balance', 'bazaar', 'call', 'doctor', 'explain', 'manifest', 'quote', 'refunds'],
  ...['trigger', 'tx', 'wallet', '--help'],
])
const started = new Set<string>()

/**
 * The first of each command in a test file is a process of its own. The next are the same program in this process: to start one
 * takes five times as long as what most of them do.
 */
export function svc(args: readonly string[], env: Environment = {}, where: Where = {}): Promise<Ended> {
  // What any of them prints with --help, the first shows for all.
  const command = args.includes('--help') ? '--help' : (args[0] ?? '')
  const first = `${expect.getState().testPath} ${command}`
  const isKnown = started.has(first)
  started.add(first)
  // A folder is a process's, and colours Node reads in its own environment.
  const isPlain = where.cwd === undefined && where.node === undefined && env.FORCE_COLOR === undefined
  if (isKnown && isPlain && ENDING.has(command)) return calledHere(MAIN, args, environment(env))
  return ended(start(args, env, where))
}

const environment = (env: Environment) => ({ PATH: process.env.PATH, ...env })

export function start(args: readonly string[], env: Environment = {}, where: Where = {}): ChildProcess {
  const { node = process.execPath, cwd } = where
  return spawn(node, [MAIN, ...args], { cwd, env: environment(env) })
}

/** In a terminal of its own. `-e` passes the exit code on, `-q` keeps `script` quiet; the typescript file is of no use. */
export function inTerminal(
  args: readonly string[],
  env: Record<string, string>,
  node: string = process.execPath,
  cwd?: string,
): ChildProcess {
  const words = [node, MAIN, ...args].map(word => `'${word.replaceAll("'", "'\\''")}'`)
  // `exec`: the shell in between would hear of Ctrl-C too, and answer 130 for itself.
  const command = `exec ${words.join(' ')}`
  return spawn('script', ['-qefc', command, '/dev/null'], {
    cwd,
    env: { PATH: process.env.PATH, TERM: 'xterm', SHELL: '/bin/sh', ...env },
  })
}

export function ended(child: ChildProcess): Promise<Ended> {
  let stdout = ''
  let stderr = ''
  child.stdout!.on('data', chunk => {
    stdout += chunk
  })
  child.stderr!.on('data', chunk => {
    stderr += chunk
  })
  return new Promise(resolve => child.on('close', code => resolve({ code, stdout, stderr })))
}

export async function firstLine(child: ChildProcess): Promise<string> {
  for await (const line of createInterface({ input: child.stdout! })) return line
  throw new Error('the process ended without a word')
}

export interface Heard {
  /** Everything so far, on both streams. */
  readonly text: string
  /** Resolves with the match, from what was not matched before on; rejects where the process ends without it. */
  until(pattern: RegExp): Promise<RegExpExecArray>
  /** Resolves when the process and all that write to its streams have ended. */
  readonly ended: Promise<number | null>
}

/** Both streams of a process that goes on, as one text. */
export function hear(child: ChildProcess): Heard {
  let text = ''
  let read = 0
  let over = false
  const waiting = new Set<() => void>()
  const check = () => {
    for (const look of waiting) look()
  }
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      check()
    })
  }
  const done = new Promise<number | null>(resolve => {
    child.on('close', code => {
      over = true
      check()
      resolve(code)
    })
  })
  return {
    get text() {
      return text
    },
    ended: done,
    until: pattern =>
      new Promise((resolve, reject) => {
        const look = () => {
          const match = pattern.exec(text.slice(read))
          if (!match && !over) return
          waiting.delete(look)
          if (!match) return reject(new Error(`ended without ${pattern}:\n${text}`))
          read += match.index + match[0].length
          resolve(match)
        }
        waiting.add(look)
        look()
      }),
  }
}
