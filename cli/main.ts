#!/usr/bin/env node
/** The command line: parses, calls the SDK, prints. One file a command; nothing here knows how anything works. */
import { Command } from 'commander'
import { bazaarCommand } from './commands/bazaar.js'
import { callCommand } from './commands/call.js'
import { devCommand } from './commands/dev.js'
import { doctorCommand } from './commands/doctor.js'
import { initCommand } from './commands/init.js'
import { machinesCommand } from './commands/machines.js'
import { manifestCommand } from './commands/manifest.js'
import { mcpCommand } from './commands/mcp.js'
import { quoteCommand } from './commands/quote.js'
import { sandboxCommand } from './commands/sandbox.js'
import { EXIT_HELP, report } from './exit.js'
import { packageFacts } from './package.js'

const COMMANDS = [
  initCommand,
  devCommand,
  doctorCommand,
  quoteCommand,
  callCommand,
  manifestCommand,
  bazaarCommand,
  mcpCommand,
  sandboxCommand,
  machinesCommand,
]

const EXAMPLES = `
Examples:
  $ svc init my-agent --template llm
  $ svc dev --sandbox
  $ svc doctor --network testnet
  $ svc quote https://agent.example/summarize
  $ svc call https://agent.example/summarize --body '{"text":"Hello."}' --max-price 0.05 --network testnet

The wallet is the 25-word mnemonic in SVC_MNEMONIC. SVC_SANDBOX=<url> points everything at a sandbox.`

const program = new Command('svc')
  .description('Sell any HTTP endpoint per request, in USDC on Algorand over x402. And buy from others.')
  .version(packageFacts().version)
  .addHelpText('after', `${EXAMPLES}\n${EXIT_HELP}`)
  .configureOutput({ outputError: () => {} })
  .exitOverride()

for (const addTo of COMMANDS) addTo(program)

// Whoever reads us may stop early (`svc manifest … | head`); that is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit()
})

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = report(error)
}
