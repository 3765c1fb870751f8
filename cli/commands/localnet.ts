/** `svc localnet`: readies AlgoKit LocalNet, or another private node, to sell and to pay on, and settles there until it stops. */
import type { Command } from 'commander'
import { shellWord } from '../../src/domain/index.js'
import type { Localnet, LocalnetFlags } from '../../src/localnet/index.js'
import { portArgument } from '../arguments.js'
import { signalled } from '../exit.js'
import { columns, json, print, printable, STDERR_LOGGER } from '../output.js'
import { whileWaiting } from '../spinner.js'

interface Flags extends LocalnetFlags {
  readonly port?: number
  readonly out: string
  readonly json?: boolean
}

export const LOCALNET_FILE = 'localnet.json'

export function localnetCommand(program: Command): void {
  program
    .command('localnet')
    .description('ready AlgoKit LocalNet: USDC, funded accounts, and a facilitator on it')
    .option('--algod <url>', 'its node (default: http://localhost:4001)')
    .option('--algod-token <token>', "the node's API token (default: LocalNet's, 64 times a)")
    .option('--kmd <url>', 'its kmd, whose wallet has the ALGO (default: http://localhost:4002)')
    .option('--kmd-token <token>', "kmd's API token (default: LocalNet's)")
    .option('--indexer <url>', 'its indexer, if it answers (default: http://localhost:8980)')
    .option('--public-address', 'the node has a public address, and its network is private all the same')
    .option(
      '--port <port>',
      'port of the facilitator (default: 4403, or any where it is taken)',
      portArgument,
    )
    .option('--out <file>', 'the definition of the network is written to this file', LOCALNET_FILE)
    .option('--json', 'print one line of JSON')
    .addHelpText(
      'after',
      `
It takes the ALGO from kmd's unencrypted-default-wallet. For a node without kmd, SVC_LOCALNET_MNEMONIC has the 25 words of an
account with ALGO; they are never an argument. The accounts follow from the key that pays, so each start has the same ones.

SVC_LOCALNET_ALGOD, SVC_LOCALNET_ALGOD_TOKEN, SVC_LOCALNET_KMD, SVC_LOCALNET_KMD_TOKEN and SVC_LOCALNET_INDEXER say the same as
the flags, for svc dev --localnet too.

Example:
  $ algokit localnet start
  $ svc localnet`,
    )
    .action(runLocalnet)
}

async function runLocalnet({ port, out, json: asJson, ...flags }: Flags): Promise<void> {
  const stopped = signalled()
  const { localnetSettings, startLocalnet } = await import('../../src/localnet/index.js')
  const starting = startLocalnet({ settings: localnetSettings(flags), port, out, logger: STDERR_LOGGER })
  const localnet = await whileWaiting('readying LocalNet', starting)
  if (asJson) print(told(localnet))
  else print(...described(localnet))
  await stopped
  await localnet.close()
}

function told({ definition, file, buyer, seller, sponsor }: Localnet): string {
  const { algodUrl, facilitatorUrl } = definition
  return json({
    algodUrl,
    facilitatorUrl,
    file,
    network: definition,
    buyer,
    seller,
    sponsor: sponsor.address,
  })
}

function described({ definition, file, buyer, seller, sponsor }: Localnet): string[] {
  const { algodUrl, genesisId, usdc, indexerUrl, facilitatorUrl } = definition
  return [
    ...columns([
      ['localnet', `${algodUrl} (${genesisId}, play money)`],
      ['indexer', indexerUrl ?? 'none answers'],
      ['facilitator', facilitatorUrl],
      ['USDC', `asset ${usdc}`],
      ['buyer', `${buyer.address} (at least $100 in USDC)`],
      ['seller', seller.address],
      ['sponsor', sponsor.address],
    ]),
    '',
    'Paste this where agents and callers run:',
    '',
    ...exportsOf({ file, buyer }),
    `  export SVC_PAY_TO=${seller.address}`,
    '',
    'Ctrl-C stops the facilitator. USDC and the accounts stay on LocalNet.',
  ]
}

/** What a caller exports. SVC_SANDBOX would replace the node. */
export function exportsOf({ file, buyer }: Pick<Localnet, 'file' | 'buyer'>): string[] {
  return [
    '  unset SVC_SANDBOX',
    `  export SVC_NETWORK=${shellWord(printable(file))}`,
    `  export SVC_MNEMONIC='${buyer.mnemonic}'`,
  ]
}
