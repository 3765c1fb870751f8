/** `svc call`. The keys of wallet and window come from files and the environment: shell histories would keep a flag. */
import {
  endLines,
  failedAfter,
  outcomeOfResult,
  type PaymentEnd,
  type ShownWindow,
} from '../../src/app/client/index.js'
import type { CallResult, StreamResult } from '../../src/client.js'
import { isRecord, quotedNetworks, SvcError, shellWord } from '../../src/domain/index.js'
import {
  METHOD_OPTION,
  requestFlags,
  required,
  secondsArgument,
  sentAs,
  WALLET_OPTION,
  withQuery,
} from '../arguments.js'
import { balanceFile } from '../balance-file.js'
import { command } from '../define-command.js'
import { untilEnded } from '../exit.js'
import { NETWORK_OPTION, networkFromEnvironment, ownNetworkIfAny } from '../networks.js'
import { balanceRows, columns, note, printable, whileWaiting, written } from '../output.js'
import { printAnswer, printAnswerAsJson, printStream } from '../print-answer.js'
import { systemError } from '../system-error.js'
import { taken, walletWords } from '../wallet-words.js'

export const callCommand = command({
  name: 'call',
  says: 'call an endpoint and pay for it, from your wallet',
  takes: [['<url>', 'the endpoint']],
  flags: [
    [
      '--max-price <usd>',
      'pay at most this much, such as 0.05, also from a balance (required without SVC_SUBSCRIPTION_KEY)',
    ],
    ...requestFlags('the body'),
    NETWORK_OPTION,
    WALLET_OPTION,
    METHOD_OPTION,
    ['--idempotency-key <key>', 'lets a repeated call get the same answer, where the seller supports it'],
    ['--balance', 'pay from a balance that svc balance bought, and in no other way'],
    ['--timeout <seconds>', 'end the call after this time, and say what was charged', secondsArgument],
    ['--stream', 'print the answer as it comes: an event a line, anything else as it is'],
    [
      '--json',
      'print data, payment and status as one JSON object; with --stream, one for each event, and one at the end',
    ],
  ],
  help: `
The answer goes to stdout as it came, price and receipt to stderr. A terminal shows no control characters of an answer, and
bytes go to a new file instead. A stream is paid before its first byte. Ctrl-C, SIGTERM, SIGHUP and --timeout end the call.
A call that fails after its payment was sent says which payment that was, and how to get the answer.

Where the call bought a window, its key is printed to stderr, and with --json as subscription.key. With that key in
SVC_SUBSCRIPTION_KEY, svc call sends the key, needs no wallet, and pays nothing.

Examples:
  $ svc call https://agent.example/summarize --body '{"text":"Hello."}' --max-price 0.05 --wallet wallet.txt
  $ svc call https://agent.example/tell --body '{"about":"whales"}' --max-price 0.05 --stream`,
}).does(async (url, flags) => {
  const { network = networkFromEnvironment(), method, idempotencyKey, timeout } = flags
  const target = withQuery(url, flags.data)
  const key = taken('SVC_SUBSCRIPTION_KEY')
  const pays = key === undefined && flags.balance !== true
  const mnemonic = await walletWords(pays ? flags.wallet : undefined)
  const maxPrice = key === undefined ? required(flags.maxPrice, '--max-price') : flags.maxPrice
  if (pays && mnemonic === undefined)
    throw new SvcError('No wallet is given: name its file with --wallet, or set SVC_MNEMONIC', 'no_signer')
  const { SvcClient, memorySpendLedger } = await import('../../src/client.js')
  const ledger = flags.balance ? balanceFile(memorySpendLedger()) : undefined
  // Without the wallet a key that is refused costs nothing: the caller decides whether to buy another window.
  const client = new SvcClient({ mnemonic: pays ? mnemonic : undefined, network, maxPrice, ledger })
  if (ledger) await client.balances()
  if (key !== undefined) client.useSubscription(target, key)
  // A key that was given is a secret of the caller's: only one that this call bought is printed.
  const windows = (): ShownWindow[] =>
    client.activeSubscriptions.map(window => (key === undefined ? window : { ...window, key: undefined }))
  const signal = untilEnded(timeout)
  let result: CallResult | StreamResult | undefined
  try {
    const { body, headers } = sentAs(flags)
    const options = { method, idempotencyKey, headers, signal }
    const calling = flags.stream ? client.stream(target, body, options) : client.call(target, body, options)
    result = await whileWaiting<CallResult | StreamResult>(`calling ${printable(url)}`, calling)
    await printResult(result, windows()[0], flags.json === true)
  } catch (error) {
    const cause = pays ? withNetworkHint(systemError(error) ?? error) : keyRefused(error, key)
    const end = { payments: [...client.receipts], windows: windows(), ...keyOf(cause, result) }
    // A stream that has begun is not sent again: most sellers would run it and charge anew.
    const command = result !== undefined && 'body' in result ? [] : howToGetTheAnswer(end)
    note(...endLines(end).map(printable), ...command)
    throw failedAfter(cause, end)
  }
})

/** The receipt goes first, and the answer is printed also where the receipt cannot be. */
async function printResult(
  result: CallResult | StreamResult,
  window: ShownWindow | undefined,
  asJson: boolean,
) {
  const receipt = asJson
    ? undefined
    : written(receiptOf(result, window), process.stderr).catch(error => error)
  if ('body' in result) await printStream(result, window, asJson)
  else if (asJson) await printAnswerAsJson(result, window)
  else await printAnswer(result)
  const failure = await receipt
  if (failure) throw failure
}

/** The key under which the seller keeps the answer: named by the error, or that of the answer which could not be printed. */
function keyOf(cause: unknown, result: object | undefined) {
  const detail = cause instanceof SvcError && isRecord(cause.detail) ? cause.detail : {}
  const idempotencyKey = detail.idempotencyKey ?? (result && outcomeOfResult(result)?.idempotencyKey)
  return typeof idempotencyKey === 'string' ? { idempotencyKey } : {}
}

const COMMAND_LENGTH_MAX = 4_000

/** The same words again, with the key under which the seller keeps the answer. */
function howToGetTheAnswer({ payments, idempotencyKey }: PaymentEnd): string[] {
  const isUncharged = payments.length > 0 && payments.every(({ charged }) => charged === 'no')
  if (idempotencyKey === undefined || isUncharged) return []
  const typed = process.argv.slice(2)
  const named = typed.some(word => /^--idempotency-key(=|$)/.test(word))
  const words = named ? typed : [...typed, '--idempotency-key', idempotencyKey]
  const command = ['svc', ...words].map(shellWord).join(' ')
  // A stranger may have written a word of the command. A word that cannot be shown unchanged would be another word.
  const isShown = command.length <= COMMAND_LENGTH_MAX && printable(command) === command
  const same = `, repeat this command with --idempotency-key ${printable(idempotencyKey)}`
  return [
    `To get the answer${isShown ? `: ${command}` : same}`,
    'A seller that did not keep the answer charges again.',
  ]
}

/** The client of a key alone reports a quote as the lack of a wallet. */
function keyRefused(error: unknown, key: string | undefined): unknown {
  if (!(error instanceof SvcError && error.code === 'no_signer')) return error
  const [what, code] = key
    ? ['the key in SVC_SUBSCRIPTION_KEY does not cover this call', 'subscription_refused']
    : ['no balance of svc balance suffices for this call', 'balance_required']
  return new SvcError(`The seller asks to be paid: ${what}; nothing was paid`, code, 402, error.detail)
}

function receiptOf(result: CallResult | StreamResult, window: ShownWindow | undefined): string {
  const { payment, status, attempts, replayed, sentTxId, charged, left, warnings = [] } = result
  const earlier = replayed ? ', paid earlier' : ''
  const lines = [
    ...columns([
      ...balanceRows({ charged, left }),
      ['price', (charged ?? left) ? undefined : payment ? `$${payment.usd ?? '?'}${earlier}` : 'nothing'],
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
  ]
  return `${lines.join('\n')}\n\n`
}

/** The same error, with the flag that fits, where the seller quotes testnet. A seller's quote never makes us advise mainnet. */
export function withNetworkHint(error: unknown): unknown {
  if (!(error instanceof SvcError) || error.code !== 'unreadable_quote' || !isRecord(error.detail))
    return error
  const accepts = Array.isArray(error.detail.accepts) ? error.detail.accepts : []
  const isQuoted = quotedNetworks(accepts, ownNetworkIfAny()).includes('testnet')
  if (!isQuoted || !error.message.includes('(it is for ')) return error
  return new SvcError(`${error.message}; try --network testnet`, error.code, error.status, error.detail)
}
