/** Three replicas as processes, each on wires of its own, behind one balancer. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../test/support/redis-server.js'
import { type Link, openBalancer, openLink } from './links.js'
import type { SentinelRedis } from './redis-cluster.js'

export const REPLICAS = 3

/** Short, so that leases end while the run looks. Where nothing breaks, the product's own: then only load could end one. */
const TIMEOUTS = {
  verifyMs: 1_500,
  settleMs: 1_500,
  certaintyMs: 3_000,
  reconcilePauseMs: 100,
  creditMs: 1_000,
  leaseMs: 3_000,
}
const PAYMENT_SECONDS = 120

/** What the next deploy sells for. */
const PRICES = ['$0.01', '$0.02'] as const

export interface Sellers {
  readonly url: string
  kill(at: number, downMs: number): Promise<void>
  /** Drains it, and starts the version with the other price. */
  deploy(at: number): Promise<void>
  /** Brings all to the newest version. */
  finishDeploys(): Promise<void>
  suspend(at: number, forMs: number): Promise<void>
  /** From Redis and its Sentinels, for one replica alone. */
  part(at: number, how: 'silent' | 'cut', forMs: number): Promise<void>
  setClock(at: number, offsetMs: number): void
  close(): Promise<void>
}

export interface SellersOptions {
  readonly redis: SentinelRedis
  readonly sandboxUrl: string
  readonly payTo: string
  /** The folder of the compiled product. */
  readonly build: string
  readonly waitReplicas: number
  readonly isCalm: boolean
}

export async function startSellers(options: SellersOptions): Promise<Sellers> {
  const balancer = await openBalancer(REPLICAS)
  const seats = await Promise.all(Array.from({ length: REPLICAS }, () => openSeat(options.redis)))
  const running: ChildProcess[] = []
  let newest = 0
  const versions = seats.map(() => newest)
  const killAll = () => {
    for (const child of running) child.kill('SIGKILL')
  }
  process.once('exit', killAll)

  async function start(at: number): Promise<void> {
    const { port, natMap, sentinels } = seats[at]!
    const { redis: _, sandboxUrl, isCalm, ...settings } = options
    const price = PRICES[versions[at]! % PRICES.length]
    const timeouts = isCalm ? {} : { timeouts: TIMEOUTS }
    const more = {
      options: { advanced: { ...timeouts, maxTimeoutSeconds: PAYMENT_SECONDS } },
      ...(!isCalm && { commandTimeoutMs: 1_000 }),
    }
    running[at] = await startSeller({ ...settings, ...more, port, natMap, sentinels, price }, sandboxUrl)
    balancer.ports[at] = port
  }

  async function stop(at: number, signal: NodeJS.Signals): Promise<void> {
    const child = running[at]!
    if (signal === 'SIGKILL') balancer.ports[at] = undefined
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill(signal)
    await exited
    balancer.ports[at] = undefined
  }

  async function update(at: number): Promise<void> {
    versions[at] = newest
    await stop(at, 'SIGTERM')
    await start(at)
  }

  await Promise.all(seats.map((_, at) => start(at)))
  return {
    url: balancer.url,
    async kill(at, downMs) {
      await stop(at, 'SIGKILL')
      await pause(downMs)
      await start(at)
    },
    async deploy(at) {
      newest = Math.max(newest, versions[at]! + 1)
      await update(at)
    },
    async finishDeploys() {
      for (const at of seats.keys()) if (versions[at] !== newest) await update(at)
    },
    async suspend(at, forMs) {
      running[at]!.kill('SIGSTOP')
      await pause(forMs)
      running[at]!.kill('SIGCONT')
    },
    async part(at, how, forMs) {
      for (const link of seats[at]!.links) link.set(how)
      await pause(forMs)
      for (const link of seats[at]!.links) link.set('up')
    },
    setClock(at, clockMs) {
      const child = running[at]!
      if (child.connected) child.send({ clockMs })
    },
    async close() {
      process.off('exit', killAll)
      for (const child of running) child.kill('SIGCONT')
      await Promise.all(running.map((_, at) => stop(at, 'SIGKILL')))
      await balancer.close()
      await Promise.all(seats.flatMap(({ links }) => links.map(link => link.close())))
    },
  }
}

/** Where a replica listens, and the wires by which it reaches Redis, whoever the Sentinels say is the primary. */
async function openSeat({ servers, sentinelPorts }: SentinelRedis) {
  const reached = [...servers, ...sentinelPorts.map(port => ({ known: port, port }))]
  const links: Link[] = await Promise.all(reached.map(({ port }) => openLink(port)))
  const natMap = Object.fromEntries(
    reached.map(({ known }, at) => [`127.0.0.1:${known}`, { host: '127.0.0.1', port: links[at]!.port }]),
  )
  const sentinels = sentinelPorts.map((_, at) => ({
    host: '127.0.0.1',
    port: links[servers.length + at]!.port,
  }))
  return { port: await freePort(), links, natMap, sentinels }
}

async function startSeller(settings: object, sandboxUrl: string): Promise<ChildProcess> {
  const [script, clock] = ['seller.mjs', 'clock.mjs'].map(name =>
    fileURLToPath(new URL(name, import.meta.url)),
  ) as [string, string]
  const child = fork(script, [JSON.stringify(settings)], {
    execArgv: ['--import', clock],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: { ...process.env, SVC_SANDBOX: sandboxUrl, NODE_NO_WARNINGS: '1' },
  })
  await Promise.race([
    once(createInterface({ input: child.stdout! }), 'line'),
    once(child, 'exit').then(() => Promise.reject(new Error('a seller ended before it was ready'))),
  ])
  return child
}
