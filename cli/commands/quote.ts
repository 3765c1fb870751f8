/** `svc quote`: prints an endpoint's price. Free, and without a wallet. */
import type { Command } from 'commander'
import { SvcError } from '../../src/domain/errors.js'
import { networkOf } from '../../src/domain/network.js'
import { priceOf } from '../../src/domain/usd-price-for-display.js'
import { isRecord, type PaymentRequired } from '../../src/domain/x402.js'
import {
  headerArgument,
  headersOf,
  jsonArgument,
  methodArgument,
  type Pairs,
  queryArgument,
  withQuery,
} from '../arguments.js'
import { ownNetworkIfAny } from '../network-from-environment.js'
import { columns, json, print } from '../output.js'

interface QuoteFlags {
  readonly body?: unknown
  readonly data?: Pairs
  readonly header?: Pairs
  readonly method?: string
  readonly json?: boolean
}

export function quoteCommand(program: Command): void {
  program
    .command('quote')
    .description('print what an endpoint asks for; free, no wallet')
    .argument('<url>', 'the endpoint')
    .option('--body <json>', 'the body to be priced: JSON, @file, or - for standard input', jsonArgument)
    .option('--data <name=value>', 'adds to the query, for a GET; may be repeated', queryArgument)
    .option('--header <header>', "adds a header, such as 'X-Team: blue'; may be repeated", headerArgument)
    .option('--method <method>', 'GET or POST', methodArgument)
    .option('--json', 'print the decoded quote as JSON')
    .addHelpText(
      'after',
      '\nExample:\n  $ svc quote https://agent.example/summarize --body \'{"text":"Hello."}\'',
    )
    .action(quote)
}

async function quote(url: string, flags: QuoteFlags): Promise<void> {
  const { body, method, json: asJson } = flags
  const { SvcClient } = await import('../../src/client.js')
  const result = await new SvcClient().quote(withQuery(url, flags.data), body, {
    method,
    headers: headersOf(flags),
  })
  const { paymentRequired, status, requirements, reason } = result
  if (status >= 400 && !paymentRequired) {
    const why = reason === undefined ? '' : `: ${reason}`
    throw new SvcError(`The endpoint answered ${status} instead of a quote${why}`, 'call_failed', status)
  }
  if (asJson) print(json(result, 2))
  else if (!paymentRequired) print(`no payment required (status ${status})`)
  else if (requirements) print(...described(requirements))
  else
    throw new SvcError(
      'The endpoint answered 402 without a quote that can be decoded',
      'unreadable_quote',
      402,
    )
}

/**
 * The entries of a quote, even those that this client cannot pay: another client may be able to. Entries that differ in the
 * spelling of the network's id alone are shown once.
 */
function described({ accepts, resource }: PaymentRequired): string[] {
  const about: Record<string, unknown> = isRecord(resource) ? resource : {}
  const entries = distinct((accepts as readonly unknown[]).filter(isRecord)).map(describedEntry)
  const told = [
    ['resource', textOf(about.url)],
    ['description', textOf(about.description)],
  ] as const
  return entries
    .map(entry => columns([...entry, ...told]).join('\n'))
    .flatMap((text, at) => (at ? ['', text] : [text]))
}

function distinct(entries: readonly Record<string, unknown>[]): readonly Record<string, unknown>[] {
  const seen = new Map<string, Record<string, unknown>>()
  for (const entry of entries) {
    const network = networkOf(entry.network, ownNetworkIfAny())?.caip2
    const terms = JSON.stringify(describedEntry(network ? { ...entry, network } : entry))
    if (!seen.has(terms)) seen.set(terms, entry)
  }
  return [...seen.values()]
}

function describedEntry(entry: Record<string, unknown>): [string, string | undefined][] {
  const own = ownNetworkIfAny()
  const usd = priceOf(entry, own?.given)
  const network = networkOf(entry.network, own)?.name
  const feePayer = isRecord(entry.extra) ? textOf(entry.extra.feePayer) : undefined
  return [
    ['price', usd === null ? `${String(entry.amount)} base units` : `$${usd}`],
    ['window', windowOf(entry)],
    ['network', network ? `${network} (${String(entry.network)})` : textOf(entry.network)],
    ['pay to', textOf(entry.payTo)],
    ['asset', usd === null ? textOf(entry.asset) : `${String(entry.asset)} (USDC)`],
    ['amount', textOf(entry.amount)],
    ['network fee', feePayer === undefined ? 'paid by the caller' : `sponsored by ${feePayer}`],
  ]
}

/** What the price buys, where that is a window of calls. */
function windowOf({ extra }: Record<string, unknown>): string | undefined {
  const { subscriptionPeriod: period, subscriptionCalls: calls } = isRecord(extra) ? extra : {}
  if (typeof period !== 'string') return undefined
  return typeof calls === 'number' ? `${period}, ${calls} calls` : period
}

function textOf(value: unknown): string | undefined {
  return value === undefined || value === '' ? undefined : String(value)
}
