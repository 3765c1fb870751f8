/** `svc tx`: whether a payment in USDC landed, and what it moved. Exit code 0 says that it landed, and nothing else does. */
import { SvcError } from '../../src/domain/index.js'
import { roundArgument, txIdArgument, urlArgument } from '../arguments.js'
import { command } from '../define-command.js'
import { ALGOD_OPTION, indexerOf, NETWORK_OPTION, networkOfFlags, nodeOf } from '../networks.js'
import { json, tell, whileWaiting } from '../output.js'

export const txCommand = command({
  name: 'tx',
  says: 'look a payment up on the chain, by its transaction id; free, no wallet',
  takes: [['<id>', 'the transaction id, as errors and receipts name it', txIdArgument]],
  flags: [
    NETWORK_OPTION,
    ALGOD_OPTION,
    [
      '--indexer <url>',
      'an indexer, for payments of more than 1000 rounds ago (default: likewise)',
      urlArgument,
    ],
    [
      '--last-valid <round>',
      'the last round in which the payment can land (detail.lastValid of the error). svc tx then says whether it still can',
      roundArgument,
    ],
    ['--json', 'print one JSON object'],
  ],
  help: `
The exit code is 0 where the transaction has landed and moved USDC, and 1 where it has not: a payment may still land until its last
valid round. To whom it moved USDC is in what is printed.

Example:
  $ svc tx KDZVXLBCZFZXCVOVZRCPJBQ6HM6LXWYIJEDMRQXRJWVQEZW7S5NA --network testnet`,
}).does(async (txId, flags) => {
  const network = networkOfFlags(flags)
  const { amountOf, lookUp, whyNoPayment } = await import('../../src/checks/index.js')
  const witnesses = { network, algod: nodeOf(network, flags.algod), indexerUrl: indexerOf(network, flags) }
  const sighting = await whileWaiting(`asking ${network.name}`, lookUp(txId, witnesses))
  const said = whyNoPayment(sighting, network, flags.lastValid)
  const shown = { txId, network: network.key, ...sighting }
  if (said !== undefined) throw new SvcError(said.message, said.code, undefined, shown)
  if (sighting.state !== 'landed') return
  const { round, landedMs, moved } = sighting
  const at = landedMs === undefined ? '' : `, ${new Date(landedMs).toISOString()}`
  tell(flags, json(shown), [
    ['transaction', txId],
    ['landed', `in round ${round} on ${network.name}${at}`],
    ['moved', moved && amountOf(moved, network)],
    ['from', moved?.payer],
    ['to', moved?.receiver],
  ])
})
