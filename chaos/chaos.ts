/**
 * Three replicas behind a proxy, on one Redis, sell to clients that never give up, while whatever can be killed is killed
 * and the facilitator is cut at every stage. Then everything is mended, every client asks until it has its answer and once
 * more, and `audit.ts` compares what was paid, what was answered and what is stored.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { FaultName, Stage } from '../src/sandbox.js'
import type { RedisServer } from '../test/support/redis-server.js'
import { type Audit, audit } from './audit.js'
import { newPurchase, type Purchase } from './buyers.js'
import { type Child, startChild } from './processes.js'
import { startProxy } from './proxy.js'
import { type Blow, schedule } from './schedule.js'

export interface ChaosOptions {
  readonly seed: number
  /** How long things go wrong; mending and asking again come on top. */
  readonly durationMs: number
  readonly buyers?: number
  readonly redis: RedisServer
}

const AGENTS = 3

/** Short rounds, windows and budgets, so that leases end and payments expire while the test looks. */
const ROUND_MS = 150
const PAYMENT_SECONDS = 120
const BUDGETS = {
  verifyMs: 1_000,
  settleMs: 1_000,
  certaintyMs: 2_000,
  reconcilePauseMs: 100,
  settlingLeaseMs: 3_000,
}
/** A payment's whole window, a lease and some: whoever has no answer by then will never get one. */
const MENDED_WITHIN_MS = 120_000

export async function chaos({ seed, durationMs, buyers = 24, redis }: ChaosOptions): Promise<Audit> {
  const sandbox = await startChild('sandbox.mjs', { roundMs: ROUND_MS })
  const { url: sandboxUrl, payTo } = sandbox.said as { url: string; payTo: string }
  const proxy = await startProxy(AGENTS)
  const agents: Child[] = []
  const startAgent = async (at: number) => {
    const options = { budgets: BUDGETS, maxTimeoutSeconds: PAYMENT_SECONDS }
    const settings = { payTo, redisUrl: redis.url, handlerMs: 200, options }
    agents[at] = await startChild('agent.mjs', settings, { SVC_SANDBOX: sandboxUrl })
    proxy.ports[at] = agents[at].said.port as number
  }
  await Promise.all(Array.from({ length: AGENTS }, (_, at) => startAgent(at)))

  const faults = `${sandboxUrl}/sandbox/faults`
  /** Blows at one target wait for each other; those at different targets do not. */
  const busy = new Map<string, Promise<void>>()
  const strike = (blow: Blow): void => {
    const target = 'agent' in blow ? `agent ${blow.agent}` : blow.kind
    const landed = (busy.get(target) ?? Promise.resolve()).then(() => land(blow))
    busy.set(target, landed)
  }
  const cut = async (stage: Stage, behaviour: FaultName): Promise<void> => {
    await fetch(faults, { method: 'PUT', body: JSON.stringify({ stage, behaviour }) })
  }
  const mend = async (stage: Stage): Promise<void> => {
    await fetch(`${faults}?stage=${stage}`, { method: 'DELETE' })
  }
  const restart = async (at: number, downMs: number): Promise<void> => {
    proxy.ports[at] = undefined
    await agents[at]!.kill()
    await pause(downMs)
    await startAgent(at)
  }
  const land = async (blow: Blow): Promise<void> => {
    switch (blow.kind) {
      case 'killAgent':
        return restart(blow.agent, blow.downMs)
      case 'killSettling':
        await cut('settle', blow.fault)
        await pause(blow.forMs)
        return Promise.all([restart(blow.agent, 0), mend('settle')]).then(() => {})
      case 'killRedis':
        await redis.kill()
        await pause(blow.downMs)
        return redis.start()
      case 'cutFacilitator':
        await cut(blow.stage, blow.fault)
        await pause(blow.forMs)
        return mend(blow.stage)
    }
  }

  try {
    const market = { sandboxUrl, endpoint: `${proxy.url}/answer` }
    const purchases: Purchase[] = []
    const endsMs = performance.now() + durationMs
    const buying = Array.from({ length: buyers }, async () => {
      while (performance.now() < endsMs) {
        const purchase = await newPurchase(market)
        purchases.push(purchase)
        while (performance.now() < endsMs && !(await purchase.ask())) await pause(50)
      }
    })
    const blows = schedule(seed, durationMs, AGENTS)
    const begunMs = performance.now()
    for (const blow of blows) {
      await pause(Math.max(0, begunMs + blow.atMs - performance.now()))
      strike(blow)
    }
    await Promise.all([...busy.values(), ...buying])
    await fetch(faults, { method: 'DELETE' })
    // Twice at least, each: what was settled is replayed, however often it is asked for.
    await Promise.all(purchases.map(askUntilAnsweredTwice))
    return await audit({ seed, blows, purchases, sandboxUrl, payTo, redisUrl: redis.url })
  } finally {
    await Promise.all(agents.map(agent => agent.kill()))
    await proxy.close()
    await sandbox.kill()
  }
}

async function askUntilAnsweredTwice(purchase: Purchase): Promise<void> {
  const untilMs = performance.now() + MENDED_WITHIN_MS
  while (purchase.answers.length < 2 && performance.now() < untilMs) {
    if (!(await purchase.ask())) await pause(200)
  }
}
