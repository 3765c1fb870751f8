/**
 * `svc call`: quotes, checks, signs, calls. The wallet comes from `SVC_MNEMONIC` and the key of a window from
 * `SVC_SUBSCRIPTION_KEY`, because shell histories would keep a flag.
 */
import type { Command } from 'commander'
import { keyToRepeat } from '../../src/app/client/key-to-repeat.js'
import type { CallResult, Network, StreamResult } from '../../src/client.js'
import { SvcError } from '../../src/domain/errors.js'
import {
  headerArgument,
  headersOf,
  jsonArgument,
  methodArgument,
  NETWORK_OPTION,
  type Pairs,
  queryArgument,
  required,
  secondsArgument,
  withQuery,
} from '../arguments.js'
import { networkFromEnvironment } from '../network-from-environment.js'
import { withNetworkHint } from '../network-hint.js'
import { columns, json, note, print, printable, printData } from '../output.js'
import { printStream, type ShownWindow } from '../print-stream.js'
import { whileWaiting } from '../spinner.js'

interface CallFlags {
  readonly maxPrice?: string
  readonly data?: Pairs
  readonly header?: Pairs
  readonly body?: unknown
  readonly network?: Network
  readonly method?: string
  readonly idempotencyKey?: string
  readonly timeout?: number
  readonly stream?: boolean
  readonly json?: boolean
}

export function callCommand(program: Command): void {
  program
    .command('call')
    .description('call an endpoint and pay for it, from the wallet in SVC_MNEMONIC')
    .argument('<url>', 'the endpoint')
    .option(
      '--max-price <usd>',
      'pay at most this much, such as 0.05 (required without SVC_SUBSCRIPTION_KEY)',
    )
    .option('--body <json>', 'the body: JSON, @file, or - for standard input', jsonArgument)
    .option('--data <name=value>', 'adds to the query, for a GET; may be repeated', queryArgument)
    .option('--header <header>', "adds a header, such as 'X-Team: blue'; may be repeated", headerArgument)
    .option(...NETWORK_OPTION)
    .option('--method <method>', 'GET or POST', methodArgument)
    .option(
      '--idempotency-key <key>',
      'lets a repeated call get the same answer, where the seller supports it',
    )
    .option('--timeout <seconds>', 'end the call after this time, and say what was charged', secondsArgument)
    .option('--stream', 'print the answer as it comes: an event a line, anything else as it is')
    .option(
      '--json',
      'print data, payment and status as one JSON object; with --stream, one for each event, and one at the end',
    )
    .addHelpText(
      'after',
      `
The answer goes to stdout, price and receipt to stderr. A stream is paid before its first byte. Ctrl-C, SIGTERM,
SIGHUP and --timeout end the call, and it says what was charged.

Where the call bought a window, its key is printed to stderr, and with --json as subscription.key. With that key in
SVC_SUBSCRIPTION_KEY, svc call sends the key, needs no wallet, and pays nothing.

Examples:
  $ svc call https://agent.example/summarize --body '{"text":"Hello."}' --max-price 0.05 --network testnet
  $ svc call https://agent.example/tell --body '{"about":"whales"}' --max-price 0.05 --stream`,
    )
    .action(call)
}

async function call(url: string, flags: CallFlags): Promise<void> {
  const { network = networkFromEnvironment(), body, method, idempotencyKey, timeout } = flags
  const target = withQuery(url, flags.data)
  const key = taken('SVC_SUBSCRIPTION_KEY')
  const mnemonic = taken('SVC_MNEMONIC')
  const maxPrice = key === undefined ? required(flags.maxPrice, '--max-price') : flags.maxPrice
  if (key === undefined && mnemonic === undefined)
    throw new SvcError('SVC_MNEMONIC is not set: it holds the 25 words of the wallet', 'no_signer')
  const { SvcClient } = await import('../../src/client.js')
  // Without the wallet a key that is refused costs nothing: the caller decides whether to buy another window.
  const client = new SvcClient({ mnemonic: key === undefined ? mnemonic : undefined, network, maxPrice })
  if (key !== undefined) client.useSubscription(target, key)
  // A key that was given is a secret of the caller's: only one that this call bought is printed.
  const shownWindow = (): ShownWindow | undefined => {
    const [window] = client.activeSubscriptions
    return window && (key === undefined ? window : { ...window, key: undefined })
  }
  const stop = new AbortController()
  const interrupt = () => stop.abort()
  for (const signal of ENDS) process.once(signal, interrupt)
  const limit = timeout === undefined ? undefined : setTimeout(interrupt, timeout)
  try {
    const options = { method, idempotencyKey, headers: headersOf(flags), signal: stop.signal }
    const label = `calling ${printable(url)}`
    if (flags.stream) {
      const result = await whileWaiting(label, client.stream(target, body, options))
      const subscription = shownWindow()
      if (!flags.json) noteReceipt(result, subscription)
      await printStream({ ...result, subscription }, flags.json === true)
      return
    }
    const result = await whileWaiting(label, client.call(target, body, options))
    const subscription = shownWindow()
    if (flags.json) return print(json({ ...result, subscription }, 2))
    noteReceipt(result, subscription)
    printData(result.data)
  } catch (error) {
    noteKey(error)
    throw key === undefined ? withNetworkHint(error) : keyRefused(error)
  } finally {
    clearTimeout(limit)
    for (const signal of ENDS) process.off(signal, interrupt)
  }
}

/** Whoever ends the command is told what may have been charged. */
const ENDS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** A secret of the environment, removed from it before anything is sent, so that no child process or crash report contains it. */
function taken(name: string): string | undefined {
  const value = process.env[name] || undefined
  delete process.env[name]
  return value
}

/** The client of a key alone reports a quote as the lack of a wallet. */
function keyRefused(error: unknown): unknown {
  if (!(error instanceof SvcError && error.code === 'no_signer')) return error
  const message =
    'The seller asks to be paid: the key in SVC_SUBSCRIPTION_KEY does not cover this call; nothing was paid'
  return new SvcError(message, 'subscription_refused', 402, error.detail)
}

function noteKey(error: unknown): void {
  const idempotencyKey = keyToRepeat(error)
  if (idempotencyKey === undefined) return
  note(
    `To ask for the answer again, repeat the call with --idempotency-key ${printable(idempotencyKey)}. A seller that did not keep the answer charges again.`,
  )
}

function noteReceipt(result: CallResult | StreamResult, window: ShownWindow | undefined): void {
  const { payment, status, attempts, replayed, sentTxId, warnings = [] } = result
  note(
    ...columns([
      ['price', payment ? `$${payment.usd ?? '?'}${replayed ? ', paid earlier' : ''}` : 'nothing'],
      ['status', String(status)],
      ['attempts', attempts === 1 ? undefined : String(attempts)],
      ['transaction', payment?.txId],
      ['also sent', sentTxId && `${sentTxId}; the seller says that it did not take this payment`],
      ['amount', payment?.amount && `${payment.amount} base units of asset ${payment.asset}`],
      ['window key', window?.key],
      ['window ends', window?.expiresAt === undefined ? undefined : new Date(window.expiresAt).toISOString()],
      ['calls left', window?.remaining?.toString()],
    ]),
    ...warnings.map(({ code, message }) => `warning: ${printable(message)} (${code})`),
    '',
  )
}
