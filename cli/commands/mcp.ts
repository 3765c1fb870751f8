/** `svc mcp`: serves an agent's endpoints as tools for desktop clients, over stdio. Stdout carries only the protocol. */
import type { Command } from 'commander'
import type { Network } from '../../src/client.js'
import { NETWORK_OPTION, required } from '../arguments.js'
import { networkFromEnvironment } from '../network-from-environment.js'
import { note, printable } from '../output.js'

interface McpFlags {
  readonly url?: string
  readonly maxPrice: string
  readonly maxPerDay: string
  readonly network?: Network
}

/** A model decides which tools it calls, so there is always a limit. */
const DEFAULT_MAX_PRICE = '0.10'
const DEFAULT_MAX_PER_DAY = '1.00'

export function mcpCommand(program: Command): void {
  program
    .command('mcp')
    .description("offer an agent's endpoints as MCP tools over stdio, paid from the wallet in SVC_MNEMONIC")
    .option('--url <agent>', "the agent's base URL (required)")
    .option('--max-price <usd>', 'pay at most this much for a call', DEFAULT_MAX_PRICE)
    .option('--max-per-day <usd>', 'pay at most this much in 24 hours', DEFAULT_MAX_PER_DAY)
    .option(...NETWORK_OPTION)
    .addHelpText(
      'after',
      `
Without SVC_MNEMONIC only the free tools work.

Example:
  $ svc mcp --url https://agent.example --max-price 0.05 --max-per-day 2`,
    )
    .action((flags: McpFlags) => bridge(flags, program.version() ?? ''))
}

async function bridge(flags: McpFlags, version: string): Promise<void> {
  const { maxPrice, maxPerDay, network = networkFromEnvironment() } = flags
  const url = required(flags.url, '--url')
  const mnemonic = process.env.SVC_MNEMONIC || undefined
  // Remove the mnemonic from the environment before anything is sent, so that no child process or crash report
  // contains it.
  delete process.env.SVC_MNEMONIC
  // Loaded here and not above, so that no other command loads it.
  const [{ SvcClient }, { bridgeTo }, { serveStdio }, { toolServer }] = await Promise.all([
    import('../../src/client.js'),
    import('../../src/app/client/mcp-bridge.js'),
    import('@modelcontextprotocol/server/stdio'),
    import('../../src/adapters/mcp/tool-server.js'),
  ])
  const client = new SvcClient({ mnemonic, network, maxPrice, maxPerDay })
  const toolbox = await bridgeTo(url, client)
  const broke = (cause: unknown) => note(printable(`svc: a tool broke: ${cause}`))
  const onerror = (cause: Error) => note(printable(`svc: ${cause.message}`))
  serveStdio(() => toolServer({ ...toolbox, version, broke }), { onerror })
  const wallet = client.address === undefined ? 'no wallet' : `paying from ${client.address}`
  note(
    printable(
      `svc: ${toolbox.tools.length} tools of ${url}, ${wallet}, at most $${maxPrice} a call and $${maxPerDay} a day`,
    ),
  )
}
