/** Runs the built command line as its users do: in a process of its own, with nothing of ours in its environment. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

export function svc(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  return ended(start(args, env))
}

export function start(args: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
  return spawn(process.execPath, [MAIN, ...args], { env: { PATH: process.env.PATH, ...env } })
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
