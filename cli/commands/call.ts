/**
 * `svc call`: quotes, checks, signs, calls. The wallet comes from `SVC_MNEMONIC`, because shell histories would keep
 * a flag.
 */
import type { Command } from 'commander'
import type { ActiveSubscription, CallResult, Network, StreamResult } from '../../src/client.js'
import { SvcError } from '../../src/domain/errors.js'
import { isRecord } from '../../src/domain/x402.js'
import {
  headerArgument,
  headersOf,
  jsonArgument,
  methodArgument,
  NETWORK_OPTION,
  type Pairs,
  queryArgument,
  required,
  withQuery,
} from '../arguments.js'
import { networkFromEnvironment } from '../network-from-environment.js'
import { withNetworkHint } from '../network-hint.js'
import { columns, json, note, print, printable, printData } from '../output.js'
import { printStream } from '../print-stream.js'
import { whileWaiting } from '../spinner.js'

interface CallFlags {
  readonly maxPrice?: string
  readonly data?: Pairs
  readonly header?: Pairs
  readonly body?: unknown
  readonly network?: Network
  readonly method?: string
  readonly idempotencyKey?: string
  readonly stream?: boolean
  readonly json?: boolean
}

export function callCommand(program: Command): void {
  program
    .command('call')
    .description('call an endpoint and pay for it, from the wallet in SVC_MNEMONIC')
    .argument('<url>', 'the endpoint')
    .option('--max-price <usd>', 'pay at most this much, such as 0.05 (required)')
    .option('--body <json>', 'the body: JSON, @file, or - for standard input', jsonArgument)
    .option('--data <name=value>', 'adds to the query, for a GET; may be repeated', queryArgument)
    .option('--header <header>', "adds a header, such as 'X-Team: blue'; may be repeated", headerArgument)
    .option(...NETWORK_OPTION)
    .option('--method <method>', 'GET or POST', methodArgument)
    .option(
      '--idempotency-key <key>',
      'lets a repeated call get the same answer, where the seller supports it',
    )
    .option('--stream', 'print the answer as it comes: an event a line, anything else as it is')
    .option(
      '--json',
      'print data, payment and status as one JSON object; with --stream, one for each event, and one at the end',
    )
    .addHelpText(
      'after',
      `
The answer goes to stdout, price and receipt to stderr. A stream is paid before its first byte: Ctrl-C ends it, and says
what was paid.

Examples:
  $ svc call https://agent.example/summarize --body '{"text":"Hello."}' --max-price 0.05 --network testnet
  $ svc call https://agent.example/tell --body '{"about":"whales"}' --max-price 0.05 --stream`,
    )
    .action(call)
}

async function call(url: string, flags: CallFlags): Promise<void> {
  const { network = networkFromEnvironment(), body, method, idempotencyKey } = flags
  const maxPrice = required(flags.maxPrice, '--max-price')
  const target = withQuery(url, flags.data)
  const mnemonic = process.env.SVC_MNEMONIC || undefined
  // Remove the mnemonic from the environment before anything is sent, so that no child process or crash report
  // contains it.
  delete process.env.SVC_MNEMONIC
  if (mnemonic === undefined)
    throw new SvcError('SVC_MNEMONIC is not set: it holds the 25 words of the wallet', 'no_signer')
  const { SvcClient } = await import('../../src/client.js')
  const client = new SvcClient({ mnemonic, network, maxPrice })
  const stop = new AbortController()
  const interrupt = () => stop.abort()
  process.once('SIGINT', interrupt)
  try {
    const options = { method, idempotencyKey, headers: headersOf(flags), signal: stop.signal }
    const label = `calling ${printable(url)}`
    if (flags.stream) {
      const result = await whileWaiting(label, client.stream(target, body, options))
      if (!flags.json) noteReceipt(result, client.activeSubscriptions[0])
      await printStream(result, flags.json === true)
      return
    }
    const result = await whileWaiting(label, client.call(target, body, options))
    if (flags.json) return print(json(result, 2))
    noteReceipt(result, client.activeSubscriptions[0])
    printData(result.data)
  } catch (error) {
    noteKey(error)
    throw withNetworkHint(error)
  } finally {
    process.off('SIGINT', interrupt)
  }
}

function noteKey(error: unknown): void {
  const { charged, idempotencyKey } = error instanceof SvcError && isRecord(error.detail) ? error.detail : {}
  if ((charged !== 'yes' && charged !== 'maybe') || typeof idempotencyKey !== 'string') return
  note(
    `To ask for the answer again, repeat the call with --idempotency-key ${printable(idempotencyKey)}. A seller that did not keep the answer charges again.`,
  )
}

function noteReceipt(result: CallResult | StreamResult, window: ActiveSubscription | undefined): void {
  const { payment, status, attempts, replayed, sentTxId, warnings = [] } = result
  note(
    ...columns([
      ['price', payment ? `$${payment.usd ?? '?'}${replayed ? ', paid earlier' : ''}` : 'nothing'],
      ['status', String(status)],
      ['attempts', attempts === 1 ? undefined : String(attempts)],
      ['transaction', payment?.txId],
      ['sent besides', sentTxId && `${sentTxId}; the seller says that it did not take this payment`],
      ['amount', payment?.amount && `${payment.amount} base units of asset ${payment.asset}`],
      ['window ends', window?.expiresAt === undefined ? undefined : new Date(window.expiresAt).toISOString()],
      ['calls left', window?.remaining?.toString()],
    ]),
    ...warnings.map(({ code, message }) => `warning: ${printable(message)} (${code})`),
    '',
  )
}
