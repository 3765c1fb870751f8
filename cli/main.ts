#!/usr/bin/env node
/** The command line: parses, calls the SDK, prints. Each command has one file; this file knows no details of them. */
import * as nodeModule from 'node:module'
import { Command } from 'commander'
import { EXIT_HELP, report } from './exit.js'
import { checkSandboxUrl } from './networks.js'
import { watchOutput } from './output.js'
import { packageFacts } from './package.js'

/** In the order of the help. Each is loaded when it is named, so that a command loads only its own needs. */
const COMMANDS: Readonly<Record<string, () => Promise<(program: Command) => void>>> = {
  init: async () => (await import('./commands/init.js')).initCommand,
  dev: async () => (await import('./commands/dev.js')).devCommand,
  sell: async () => (await import('./commands/sell.js')).sellCommand,
  listen: async () => (await import('./commands/listen.js')).listenCommand,
  trigger: async () => (await import('./commands/trigger.js')).triggerCommand,
  doctor: async () => (await import('./commands/doctor.js')).doctorCommand,
  wallet: async () => (await import('./commands/wallet.js')).walletCommand,
  quote: async () => (await import('./commands/quote.js')).quoteCommand,
  call: async () => (await import('./commands/call.js')).callCommand,
  balance: async () => (await import('./commands/balance.js')).balanceCommand,
  tx: async () => (await import('./commands/tx.js')).txCommand,
  manifest: async () => (await import('./commands/manifest.js')).manifestCommand,
  bazaar: async () => (await import('./commands/bazaar.js')).bazaarCommand,
  mcp: async () => (await import('./commands/mcp.js')).mcpCommand,
  sandbox: async () => (await import('./commands/sandbox.js')).sandboxCommand,
  localnet: async () => (await import('./commands/localnet.js')).localnetCommand,
  facilitator: async () => (await import('./commands/facilitator.js')).facilitatorCommand,
  machines: async () => (await import('./commands/machines.js')).machinesCommand,
  audit: async () => (await import('./commands/audit.js')).auditCommand,
  refunds: async () => (await import('./commands/refunds.js')).refundsCommand,
  explain: async () => (await import('./commands/explain.js')).explainCommand,
  // The last: it completes what it finds.
  completion: async () => (await import('./commands/completion.js')).completionCommand,
}

const EXAMPLES = `
Examples:
  $ svc init my-agent --template llm
  $ svc dev --sandbox
  $ svc sell http://127.0.0.1:8000 --sandbox --price 'POST /v1/*=$0.01'
  $ svc doctor --network testnet
  $ svc quote https://agent.example/summarize
  $ svc call https://agent.example/summarize --body '{"text":"Hello."}' --max-price 0.05 --network testnet

The wallet is the 25-word mnemonic in SVC_MNEMONIC. SVC_SANDBOX=<url> points everything at a sandbox.`

function commandsFor(word: string | undefined) {
  if (word === '--version' || word === '-V') return []
  const named = word !== undefined && Object.hasOwn(COMMANDS, word) ? COMMANDS[word] : undefined
  return named ? [named] : Object.values(COMMANDS)
}

const program = new Command('svc')
  .description('Sell any HTTP endpoint per request, in USDC on Algorand over x402. And buy from others.')
  .version(packageFacts().version)
  .addHelpText('after', `${EXAMPLES}\n${EXIT_HELP}`)
  .configureOutput({ outputError: () => {} })
  .exitOverride()

// Since Node 22.8: what a command loads is compiled once for all its runs.
;(nodeModule as { enableCompileCache?(): void }).enableCompileCache?.()

for (const load of commandsFor(process.argv[2])) (await load())(program)

watchOutput()

try {
  checkSandboxUrl()
  await program.parseAsync()
} catch (error) {
  process.exitCode = report(error, process.argv.includes('--json'))
}
