import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Sandbox } from '../../src/sandbox.js'
import { bundled } from './bundled.js'

export interface ChildAgent {
  readonly url: string
  /** Of every agent in the process, where there are several. */
  readonly urls: readonly string[]
  readonly process: ChildProcess
  /** Resolves with the first line, from now on or not yet read, that has this field. */
  said(field: string): Promise<Record<string, unknown>>
  letGo(): void
}

/** Starts a script of this folder against the sandbox. The caller ends it. */
export async function childAgent(
  sandbox: Sandbox,
  options: object = {},
  file = 'agent-process.mjs',
): Promise<ChildAgent> {
  const script = await bundled(`test/support/${file}`)
  const argument = JSON.stringify({ payTo: sandbox.seller.address, options })
  const child = fork(script, [argument], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: { ...process.env, SVC_SANDBOX: sandbox.url },
  })
  const heard: Record<string, unknown>[] = []
  const waiting = new Set<() => void>()
  createInterface({ input: child.stdout! }).on('line', line => {
    heard.push(JSON.parse(line))
    for (const check of waiting) check()
  })
  const said = (field: string) =>
    new Promise<Record<string, unknown>>(resolve => {
      const check = () => {
        const at = heard.findIndex(message => field in message)
        if (at === -1) return
        waiting.delete(check)
        resolve(heard.splice(at, 1)[0]!)
      }
      waiting.add(check)
      check()
    })
  const { ready } = (await Promise.race([
    said('ready'),
    once(child, 'exit').then(() => Promise.reject(new Error('the agent process ended before it was ready'))),
  ])) as { ready: { port: number; others?: readonly number[] } }
  const { port, others = [] } = ready
  const urls = [port, ...others].map(each => `http://127.0.0.1:${each}`)
  return { url: urls[0]!, urls, process: child, said, letGo: () => void child.send('go') }
}
