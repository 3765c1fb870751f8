/** `svc sandbox`: runs a network for practice. It uses loopback and play money only, and forgets everything when it stops. */
import { resolve } from 'node:path'
import { networkFrom } from '../../src/app/server/network-from-environment.js'
import { formatUsd, isPublicNetwork, shellWord } from '../../src/domain/index.js'
import type { Sandbox, SandboxOptions } from '../../src/sandbox.js'
import { portArgument } from '../arguments.js'
import { command } from '../define-command.js'
import { signalled } from '../exit.js'
import { columns, json, printable, tell } from '../output.js'

/** The usual address, so that variables that a developer exported once stay valid. */
export const SANDBOX_PORT = 4402

/** Uses the usual port, or any free port where the usual one is taken. A given port is the only choice. */
export async function startUsualSandbox(options: SandboxOptions, port?: number): Promise<Sandbox> {
  const { startSandbox } = await import('../../src/sandbox.js')
  try {
    return await startSandbox({ ...options, port: port ?? SANDBOX_PORT })
  } catch (error) {
    if (port !== undefined || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    return startSandbox(options)
  }
}

export const sandboxCommand = command({
  name: 'sandbox',
  says: 'run a ledger, a node and a facilitator on this machine, with a funded wallet',
  flags: [
    ['--port <port>', `port (default: ${SANDBOX_PORT}, or any where that is taken)`, portArgument],
    [
      '--network <network>',
      'the network that it emulates: testnet or a JSON file that defines one',
      { default: 'testnet' },
    ],
    ['--seed <text>', 'the same seed gives the same accounts'],
    ['--pending', 'leave payments pending until the next round, as a network does'],
    ['--fault <stage=behaviour...>', 'make the facilitator misbehave, such as settle=hang or verify=500:2'],
    ['--json', 'print one line of JSON'],
  ],
  help: '\nExample:\n  $ svc sandbox --fault settle=die-after:1',
}).does(async flags => {
  const { port, seed, pending, fault, network: named } = flags
  const stopped = signalled()
  // The sandbox itself refuses mainnet.
  const emulated = networkFrom(named) as SandboxOptions['network']
  const landing = pending ? 'with-the-round' : 'at-once'
  const options = { seed, landing, fault: fault?.join(','), network: emulated } as const
  const sandbox = await startUsualSandbox(options, port)
  const { url, algodUrl, facilitatorUrl, wallet, seller, feePayer } = sandbox
  const told = { url, algodUrl, facilitatorUrl, network: sandbox.network, wallet, seller, feePayer }
  tell(flags, json(told), described(sandbox, named))
  await stopped
  await sandbox.close()
})

function described({ url, wallet, seller, balance, network }: Sandbox, named: string): string[] {
  const name = network === 'testnet' ? network : network.name
  return [
    ...columns([
      ['sandbox', `${url} (node and facilitator; ${name}'s ids, play money)`],
      ['wallet', `${wallet.address} (${formatUsd(balance(wallet.address).usdc ?? 0n)} in USDC)`],
      ['seller', `${seller.address} (nothing yet)`],
    ]),
    '',
    'Paste this where agents and callers run:',
    '',
    `  export SVC_SANDBOX=${url}`,
    `  export SVC_NETWORK=${isPublicNetwork(named) ? named : shellWord(printable(resolve(named)))}`,
    `  export SVC_PAY_TO=${seller.address}`,
    `  export SVC_MNEMONIC='${wallet.mnemonic}'`,
    '',
    'Ctrl-C stops it.',
  ]
}
