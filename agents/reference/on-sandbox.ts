/** The reference agent on a sandbox of its own: real HTTP, real transactions and signatures, play money. */
import type { AddressInfo } from 'node:net'
import { memoryRuns } from '../../src/adapters/memory/recent-runs.js'
import { serve } from '../../src/index.js'
import type { Runs } from '../../src/ports/call-observer.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { BASE_PATH, referenceAgent } from './agent.js'
import { summarizeEndpoint } from './endpoints/summarize.js'
import { sourcesOf } from './sources.js'

export interface AgentOnSandbox {
  readonly sandbox: Sandbox
  /** The agent's base URL. */
  readonly url: string
  /** Where it summarizes. */
  readonly endpointUrl: string
  readonly runs: Runs
  /** Resolves when the agent has been told to stop, and everything has. */
  readonly stopped: Promise<void>
  stop(): Promise<void>
}

export async function startOnSandbox(options: {
  port: number
  handleSignals: boolean
}): Promise<AgentOnSandbox> {
  const sandbox = await startSandbox()
  const runs = memoryRuns(10)
  const sources = sourcesOf({ network: 'testnet', sandboxUrl: sandbox.url })
  const agent = referenceAgent({ payTo: sandbox.seller.address, network: 'testnet', sources })
  let onShutdown = () => {}
  const stopped = new Promise<void>(resolve => {
    onShutdown = resolve
  }).then(async () => void (await Promise.all([sources.close(), sandbox.close()])))
  const server = serve(agent, {
    ...options,
    host: '127.0.0.1',
    basePath: BASE_PATH,
    facilitatorUrl: sandbox.facilitatorUrl,
    algodUrl: sandbox.algodUrl,
    stores: { runs },
    onReady: () => {},
    onShutdown,
  })
  try {
    await new Promise((resolve, reject) => server.once('listening', resolve).once('error', reject))
  } catch (error) {
    // An open sandbox would keep the process alive.
    onShutdown()
    await stopped
    throw error
  }
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    sandbox,
    url,
    endpointUrl: `${url}${BASE_PATH}/${summarizeEndpoint.name}`,
    runs,
    stopped,
    async stop() {
      await server.shutdown('the demo is over')
      await stopped
    },
  }
}
