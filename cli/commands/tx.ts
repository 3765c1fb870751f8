/** `svc tx`: whether a payment in USDC landed, and what it moved. Exit code 0 says that it landed, and nothing else does. */
import type { Command } from 'commander'
import type { Moved, Sighting } from '../../src/checks/index.js'
import { SvcError } from '../../src/domain/errors.js'
import { formatUsd } from '../../src/domain/money.js'
import type { Network, NetworkFacts } from '../../src/domain/network.js'
import { INDEXER_AHEAD_MAX } from '../../src/ports/chain.js'
import { roundArgument, txIdArgument, urlArgument } from '../arguments.js'
import { ALGOD_OPTION, indexerOf, NETWORK_OPTION, networkOfFlags, nodeOf } from '../networks.js'
import { columns, json, print } from '../output.js'
import { whileWaiting } from '../spinner.js'

interface TxFlags {
  readonly network?: Network
  readonly algod?: string
  readonly indexer?: string
  readonly lastValid?: bigint
  readonly json?: boolean
}

export function txCommand(program: Command): void {
  program
    .command('tx')
    .description('look a payment up on the chain, by its transaction id; free, no wallet')
    .argument('<id>', 'the transaction id, as errors and receipts name it', txIdArgument)
    .option(...NETWORK_OPTION)
    .option(...ALGOD_OPTION)
    .option(
      '--indexer <url>',
      'an indexer, for payments of more than 1000 rounds ago (default: likewise)',
      urlArgument,
    )
    .option(
      '--last-valid <round>',
      'the last round in which the payment can land (detail.lastValid of the error). svc tx then says whether it still can',
      roundArgument,
    )
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
The exit code is 0 where the transaction has landed and moved USDC, and 1 where it has not: a payment may still land until its last
valid round. To whom it moved USDC is in what is printed.

Example:
  $ svc tx KDZVXLBCZFZXCVOVZRCPJBQ6HM6LXWYIJEDMRQXRJWVQEZW7S5NA --network testnet`,
    )
    .action(tx)
}

async function tx(txId: string, flags: TxFlags): Promise<void> {
  const network = networkOfFlags(flags)
  const { lookUp } = await import('../../src/checks/index.js')
  const witnesses = { network, algod: nodeOf(network, flags.algod), indexerUrl: indexerOf(network, flags) }
  const sighting = await whileWaiting(`asking ${network.name}`, lookUp(txId, witnesses))
  const said = whyNoPayment(sighting, network, flags.lastValid)
  const shown = { txId, network: network.key, ...sighting }
  if (said !== undefined) throw new SvcError(said.message, said.code, undefined, shown)
  if (flags.json) print(json(shown))
  else print(...described(txId, network, sighting))
}

/** Why this is no payment in USDC that landed; `undefined` where it is one. */
export function whyNoPayment(
  sighting: Sighting,
  network: NetworkFacts,
  lastValid?: bigint,
): { readonly message: string; readonly code: string } | undefined {
  switch (sighting.state) {
    case 'landed': {
      const { round, moved } = sighting
      if (moved && moved.asset === network.usdcId && moved.amount > 0n) return undefined
      return {
        message: `It landed in round ${round}, and is no payment in USDC: it moved ${moved ? amountOf(moved, network) : 'no asset'}`,
        code: 'not_a_payment',
      }
    }
    case 'pending':
      return {
        message: `The node has it, and it has not landed yet: it can until round ${sighting.lastValid}. Ask again`,
        code: 'tx_pending',
      }
    case 'dropped':
      return {
        message: `The node has given it up (${sighting.why}): through another node it can land until round ${sighting.lastValid}`,
        code: 'tx_dropped',
      }
    case 'unseen':
      return unseen(sighting, lastValid)
  }
}

function unseen(
  { nodeRound, indexerRound }: Extract<Sighting, { state: 'unseen' }>,
  lastValid: bigint | undefined,
) {
  const node = `The node has not seen it in the 1000 rounds up to ${nodeRound}`
  const seen = indexerRound === undefined ? node : `${node}, nor the indexer in any up to ${indexerRound}`
  const fits = indexerRound !== undefined && indexerRound <= nodeRound + INDEXER_AHEAD_MAX
  if (fits && lastValid !== undefined && lastValid < indexerRound && lastValid < nodeRound)
    return { message: `${seen}. It can no longer land: its last round was ${lastValid}`, code: 'tx_expired' }
  const until =
    lastValid === undefined ? 'most payments can for 5 minutes, and some for 50' : `until round ${lastValid}`
  const cure =
    indexerRound === undefined && lastValid !== undefined
      ? '. Only an indexer proves that it did not: give --indexer'
      : ''
  return { message: `${seen}. It may still land: ${until}${cure}`, code: 'tx_not_found' }
}

function described(txId: string, network: NetworkFacts, sighting: Sighting): string[] {
  if (sighting.state !== 'landed') return []
  const { round, landedMs, moved } = sighting
  const at = landedMs === undefined ? '' : `, ${new Date(landedMs).toISOString()}`
  return columns([
    ['transaction', txId],
    ['landed', `in round ${round} on ${network.name}${at}`],
    ['moved', moved && amountOf(moved, network)],
    ['from', moved?.payer],
    ['to', moved?.receiver],
  ])
}

function amountOf({ asset, amount }: Moved, { usdcId }: NetworkFacts): string {
  return asset === usdcId ? `${formatUsd(amount)} in USDC` : `${amount} base units of asset ${asset}`
}
