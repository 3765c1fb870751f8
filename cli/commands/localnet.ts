/** `svc localnet`: readies AlgoKit LocalNet, or another private node, to sell and to pay on, and settles there until it stops. */
import { shellWord } from '../../src/domain/index.js'
import type { Localnet } from '../../src/localnet/index.js'
import { portArgument } from '../arguments.js'
import { command } from '../define-command.js'
import { signalled } from '../exit.js'
import { columns, json, printable, STDERR_LOGGER, tell, whileWaiting } from '../output.js'

export const LOCALNET_FILE = 'localnet.json'

export const localnetCommand = command({
  name: 'localnet',
  says: 'ready AlgoKit LocalNet: USDC, funded accounts, and a facilitator on it',
  flags: [
    ['--algod <url>', 'its node (default: http://localhost:4001)'],
    ['--algod-token <token>', "the node's API token (default: LocalNet's, 64 times a)"],
    ['--kmd <url>', 'its kmd, whose wallet has the ALGO (default: http://localhost:4002)'],
    ['--kmd-token <token>', "kmd's API token (default: LocalNet's)"],
    ['--indexer <url>', 'its indexer, if it answers (default: http://localhost:8980)'],
    ['--public-address', 'the node has a public address, and its network is private all the same'],
    ['--port <port>', 'port of the facilitator (default: 4403, or any where it is taken)', portArgument],
    ['--out <file>', 'the definition of the network is written to this file', { default: LOCALNET_FILE }],
    ['--json', 'print one line of JSON'],
  ],
  help: `
It takes the ALGO from kmd's unencrypted-default-wallet. For a node without kmd, SVC_LOCALNET_MNEMONIC has the 25 words of an
account with ALGO; they are never an argument. The accounts follow from the key that pays, so each start has the same ones.

SVC_LOCALNET_ALGOD, SVC_LOCALNET_ALGOD_TOKEN, SVC_LOCALNET_KMD, SVC_LOCALNET_KMD_TOKEN and SVC_LOCALNET_INDEXER say the same as
the flags, for svc dev --localnet too.

Example:
  $ algokit localnet start
  $ svc localnet`,
}).does(async ({ port, out, ...flags }) => {
  const { localnetSettings, startLocalnet } = await import('../../src/localnet/index.js')
  const starting = startLocalnet({ settings: localnetSettings(flags), port, out, logger: STDERR_LOGGER })
  const localnet = await whileWaiting('readying LocalNet', starting)
  // Not sooner: until it is ready, a signal ends the command.
  const stopped = signalled()
  const { definition, file, buyer, seller, sponsor } = localnet
  const { algodUrl, facilitatorUrl } = definition
  const told = {
    algodUrl,
    facilitatorUrl,
    file,
    network: definition,
    buyer,
    seller,
    sponsor: sponsor.address,
  }
  tell(flags, json(told), described(localnet))
  await stopped
  await localnet.close()
})

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
