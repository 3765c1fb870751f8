/** Several sellers on one Redis, each with stores and connections of its own, as processes would have them. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { AgentOptions, EndpointDef, ServeOptions } from '../../src/index.js'
import { type RedisStoresOptions, redisStores } from '../../src/redis.js'
import type { Sandbox } from '../../src/sandbox.js'
import { bundled } from './bundled.js'
import { closing } from './closing.js'
import { PATIENT } from './redis-server.js'
import { openSeller, type Seller } from './seller.js'

interface ReplicasOptions extends Partial<ServeOptions> {
  readonly redisUrl: string
  readonly redis?: RedisStoresOptions
  readonly sandbox?: Sandbox
  readonly about?: Partial<AgentOptions>
}

/** For the test that is running. The first owns the sandbox unless one is given. */
export async function openReplicas(
  count: number,
  endpoints: readonly EndpointDef[],
  { redisUrl, redis, sandbox, ...options }: ReplicasOptions,
): Promise<readonly Seller[]> {
  const sellers: Seller[] = []
  for (let at = 0; at < count; at++) {
    const stores = redisStores(redisUrl, { ...PATIENT, ...redis })
    const healthChecks = { redis: () => stores.ping().then(() => true) }
    const seller = await openSeller(endpoints, {
      idempotency: { onLostResponse: 'replay' },
      stores,
      healthChecks,
      ...options,
      sandbox: sandbox ?? sellers[0]?.sandbox,
    })
    const close = async () => {
      await seller.close()
      await stores.close()
    }
    sellers.push(closing({ ...seller, close }))
  }
  return sellers
}

/** `proof/chaos/agent.mjs`, from the built package, for which Redis has long on a busy machine. The caller ends it. */
export async function childReplica(sandbox: Sandbox, redisUrl: string, options: object = {}) {
  const script = await bundled('proof/chaos/agent.mjs')
  const argument = JSON.stringify({
    payTo: sandbox.seller.address,
    redisUrl,
    ...PATIENT,
    options,
  })
  const child = fork(script, [argument], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: { ...process.env, SVC_SANDBOX: sandbox.url },
  })
  const [line] = await once(createInterface({ input: child.stdout! }), 'line')
  const { port } = JSON.parse(line)
  return { url: `http://127.0.0.1:${port}`, process: child }
}
