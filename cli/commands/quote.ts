/** `svc quote`: prints an endpoint's price. Free, and without a wallet. */
import type { payableEntry } from '../../src/app/client/read-quote.js'
import type { PaymentRequired } from '../../src/client.js'
import {
  isRecord,
  MAINNET,
  networkOf,
  priceOf,
  primitiveText,
  recordAt,
  SvcError,
  TESTNET,
} from '../../src/domain/index.js'
import { METHOD_OPTION, requestFlags, sentAs, withQuery } from '../arguments.js'
import { command } from '../define-command.js'
import { ownNetworkIfAny } from '../networks.js'
import { columns, json, print } from '../output.js'

export const quoteCommand = command({
  name: 'quote',
  says: 'print what an endpoint asks for; free, no wallet',
  takes: [['<url>', 'the endpoint']],
  flags: [
    ...requestFlags('the body to be priced'),
    METHOD_OPTION,
    ['--json', 'print the decoded quote as JSON'],
  ],
  help: '\nExample:\n  $ svc quote https://agent.example/summarize --body \'{"text":"Hello."}\'',
}).does(async (url, flags) => {
  const { method, json: asJson } = flags
  const { body, headers } = sentAs(flags)
  const { SvcClient } = await import('../../src/client.js')
  const result = await new SvcClient().quote(withQuery(url, flags.data), body, { method, headers })
  const { paymentRequired, status, requirements, reason } = result
  if (status >= 400 && !paymentRequired) {
    const why = reason === undefined ? '' : `: ${reason}`
    throw new SvcError(`The endpoint answered ${status} instead of a quote${why}`, 'call_failed', status)
  }
  if (asJson) print(json(result, 'indented'))
  else if (!paymentRequired) print(`no payment required (status ${status})`)
  else if (requirements) {
    const { payableEntry: entryPaid } = await import('../../src/app/client/read-quote.js')
    print(...described(requirements, entryPaid))
  } else
    throw new SvcError(
      'The endpoint answered 402 without a quote that can be decoded',
      'unreadable_quote',
      402,
    )
})

/** Entries that this client cannot pay are shown, too. Those that differ in the spelling of the network's id alone are one. */
function described(challenge: PaymentRequired, entryPaid: typeof payableEntry): string[] {
  const { accepts, resource, extensions } = challenge
  const about = recordAt(resource) ?? {}
  const { only, price } = recordAt(extensions, 'svc-balance', 'info') ?? {}
  const networks = [ownNetworkIfAny(), MAINNET, TESTNET].filter(network => network !== undefined)
  const paid = networks.map(network => JSON.stringify(entryPaid(challenge, network)))
  const shown = distinct((accepts as readonly unknown[]).filter(isRecord))
  const entries = shown.map(entry => {
    const isPaid = shown.length > 1 && paid.includes(JSON.stringify(entry))
    return [...describedEntry(entry), ...(isPaid ? [['svc call', 'pays this entry'] as const] : [])]
  })
  const told = [
    ['buys', only === true ? `a balance, of which the call takes ${primitiveText(price)}` : undefined],
    ['resource', primitiveText(about.url)],
    ['description', primitiveText(about.description)],
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
  const feePayer = isRecord(entry.extra) ? primitiveText(entry.extra.feePayer) : undefined
  return [
    ['price', usd === null ? `${primitiveText(entry.amount) ?? '?'} base units` : `$${usd}`],
    ['window', windowOf(entry)],
    ['network', network ? `${network} (${primitiveText(entry.network)})` : primitiveText(entry.network)],
    ['pay to', primitiveText(entry.payTo)],
    ['asset', usd === null ? primitiveText(entry.asset) : `${primitiveText(entry.asset) ?? '?'} (USDC)`],
    ['amount', primitiveText(entry.amount)],
    ['network fee', feePayer === undefined ? 'paid by the caller' : `sponsored by ${feePayer}`],
  ]
}

function windowOf({ extra }: Record<string, unknown>): string | undefined {
  const { subscriptionPeriod: period, subscriptionCalls: calls } = isRecord(extra) ? extra : {}
  if (typeof period !== 'string') return undefined
  return typeof calls === 'number' ? `${period}, ${calls} calls` : period
}
