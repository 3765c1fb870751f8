/** The market and everything in it that can be broken: replicas, their proxy and Redis, the facilitator. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Stage as FacilitatorStage, FaultName } from '../../src/sandbox.js'
import type { RedisPair } from '../../test/support/redis-pair.js'
import type { Market } from './buyers.js'
import { type Child, startChild } from './processes.js'
import { startProxy } from './proxy.js'
import type { Blow } from './schedule.js'

export const AGENTS = 3

/** Short rounds, windows and timeouts, so that leases end and payments expire while the test looks. */
const ROUND_MS = 150
const PAYMENT_SECONDS = 120
const TIMEOUTS = {
  verifyMs: 1_000,
  settleMs: 1_000,
  certaintyMs: 2_000,
  reconcilePauseMs: 100,
  leaseMs: 3_000,
}

export interface Stage {
  readonly market: Market
  readonly payTo: string
  /** Breaks what the blow names, and mends it again; whether it did. What lies broken already is left to get up. */
  strike(blow: Blow): boolean
  /** Resolves when everything that was struck works again. */
  mended(): Promise<void>
  close(): Promise<void>
}

export async function openStage(redis: RedisPair): Promise<Stage> {
  const sandbox = await startChild('sandbox.mjs', { roundMs: ROUND_MS })
  const { url: sandboxUrl, payTo } = sandbox.said as { url: string; payTo: string }
  const proxy = await startProxy(AGENTS)
  const agents: Child[] = []
  const startAgent = async (at: number) => {
    const options = { advanced: { timeouts: TIMEOUTS, maxTimeoutSeconds: PAYMENT_SECONDS } }
    const settings = { payTo, redisUrl: redis.url, waitReplicas: 1, handlerMs: 200, options }
    agents[at] = await startChild('agent.mjs', settings, { SVC_SANDBOX: sandboxUrl })
    proxy.ports[at] = agents[at].said.port as number
  }
  await Promise.all(Array.from({ length: AGENTS }, (_, at) => startAgent(at)))

  const facilitator = facilitatorFaults(sandboxUrl)
  async function restart(at: number, downMs: number): Promise<void> {
    proxy.ports[at] = undefined
    await agents[at]!.kill()
    await pause(downMs)
    await startAgent(at)
  }
  async function land(blow: Blow): Promise<void> {
    switch (blow.kind) {
      case 'killAgent':
        return restart(blow.agent, blow.downMs)
      case 'killSettling':
        await facilitator.cut('settle', blow.fault)
        await pause(blow.forMs)
        await Promise.all([restart(blow.agent, 0), facilitator.mend('settle')])
        return
      case 'killRedis':
        return redis.restart(blow.downMs)
      case 'failOver':
        await redis.part()
        await pause(blow.unseenMs)
        await redis.failOver()
        await pause(blow.downMs)
        return redis.rejoin()
      case 'cutFacilitator':
        await facilitator.cut(blow.stage, blow.fault)
        await pause(blow.forMs)
        return facilitator.mend(blow.stage)
    }
  }

  const busy = new Map<string, Promise<void>>()
  return {
    market: { sandboxUrl, endpoint: `${proxy.url}/answer` },
    payTo,
    strike(blow) {
      const target = targetOf(blow)
      const before = busy.get(target)
      // The rarest blow is not left out: it waits for its turn.
      if (before !== undefined && blow.kind !== 'failOver') return false
      const landed = Promise.resolve(before)
        .then(() => land(blow))
        .finally(() => {
          if (busy.get(target) === landed) busy.delete(target)
        })
      busy.set(target, landed)
      return true
    },
    async mended() {
      await Promise.all(busy.values())
      await facilitator.mend()
    },
    async close() {
      await Promise.all(agents.map(agent => agent.kill()))
      await proxy.close()
      await sandbox.kill()
    },
  }
}

function targetOf(blow: Blow): string {
  if ('agent' in blow) return `agent ${blow.agent}`
  return blow.kind === 'failOver' || blow.kind === 'killRedis' ? 'redis' : blow.kind
}

/** The sandbox's control route. */
function facilitatorFaults(sandboxUrl: string) {
  const url = `${sandboxUrl}/sandbox/faults`
  return {
    async cut(stage: FacilitatorStage, behaviour: FaultName): Promise<void> {
      await fetch(url, { method: 'PUT', body: JSON.stringify({ stage, behaviour }) })
    },
    async mend(stage?: FacilitatorStage): Promise<void> {
      await fetch(stage ? `${url}?stage=${stage}` : url, { method: 'DELETE' })
    },
  }
}
