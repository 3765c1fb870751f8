#!/usr/bin/env node
/** The command line: parses, calls the SDK, prints. One file a command; nothing here knows how anything works. */
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { callCommand } from './commands/call.js'
import { manifestCommand } from './commands/manifest.js'
import { quoteCommand } from './commands/quote.js'
import { sandboxCommand } from './commands/sandbox.js'
import { EXIT_HELP, report } from './exit.js'

const COMMANDS = [quoteCommand, callCommand, manifestCommand, sandboxCommand]

const EXAMPLES = `
Examples:
  $ svc sandbox
  $ svc quote https://agent.example/summarize
  $ svc call https://agent.example/summarize --body '{"text":"Hello."}' --max-price 0.05 --network testnet

The wallet is the 25-word mnemonic in SVC_MNEMONIC. SVC_SANDBOX=<url> points everything at a sandbox.`

function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

const program = new Command('svc')
  .description('Sell any HTTP endpoint per request, in USDC on Algorand over x402. And buy from others.')
  .version(version())
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
