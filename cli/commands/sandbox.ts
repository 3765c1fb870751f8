/**
 * `svc sandbox`: runs a network for practice. It uses loopback and play money only, and forgets everything when it
 * stops.
 */
import type { Command } from 'commander'
import { formatUsd } from '../../src/domain/money.js'
import type { Sandbox } from '../../src/sandbox.js'
import { portArgument } from '../arguments.js'
import { columns, json, print } from '../output.js'
import { SANDBOX_PORT, startSandboxNear } from '../sandbox-near.js'

interface SandboxFlags {
  readonly port?: number
  readonly seed?: string
  readonly pending?: boolean
  readonly fault?: readonly string[]
  readonly json?: boolean
}

export function sandboxCommand(program: Command): void {
  program
    .command('sandbox')
    .description('run a ledger, a node and a facilitator on this machine, with a funded wallet')
    .option('--port <port>', `port (default: ${SANDBOX_PORT}, or any where that is taken)`, portArgument)
    .option('--seed <text>', 'the same seed gives the same accounts')
    .option('--pending', 'leave payments pending until the next round, as a network does')
    .option(
      '--fault <stage=behaviour...>',
      'make the facilitator misbehave, such as settle=hang or verify=500:2',
    )
    .option('--json', 'print one line of JSON')
    .addHelpText('after', '\nExample:\n  $ svc sandbox --fault settle=die-after:1')
    .action(runSandbox)
}

async function runSandbox({ port, seed, pending, fault, json: asJson }: SandboxFlags): Promise<void> {
  const stopped = signalled()
  const landing = pending ? 'with-the-round' : 'at-once'
  const sandbox = await startSandboxNear({ seed, landing, fault: fault?.join(',') }, port)
  const { url, algodUrl, facilitatorUrl, wallet, seller, feePayer } = sandbox
  if (asJson) print(json({ url, algodUrl, facilitatorUrl, network: 'testnet', wallet, seller, feePayer }))
  else print(...described(sandbox))
  await stopped
  await sandbox.close()
}

function described({ url, wallet, seller, balance }: Sandbox): string[] {
  return [
    ...columns([
      ['sandbox', `${url} (node and facilitator; testnet's ids, play money)`],
      ['wallet', `${wallet.address} (${formatUsd(balance(wallet.address).usdc ?? 0n)} in USDC)`],
      ['seller', `${seller.address} (nothing yet)`],
    ]),
    '',
    'Paste this where agents and callers run:',
    '',
    `  export SVC_SANDBOX=${url}`,
    '  export SVC_NETWORK=testnet',
    `  export SVC_PAY_TO=${seller.address}`,
    `  export SVC_MNEMONIC='${wallet.mnemonic}'`,
    '',
    'Ctrl-C stops it.',
  ]
}

function signalled(): Promise<void> {
  return new Promise(resolve => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
  })
}
