/**
 * `svc bazaar`: the offers of other sellers, from a facilitator's index. Their texts are from strangers: the command
 * shows them, and never acts on them.
 */
import type { Command } from 'commander'
import type { BazaarResource } from '../../src/client.js'
import { SvcError } from '../../src/domain/errors.js'
import { networkOf } from '../../src/domain/network.js'
import { networkFacts } from '../../src/domain/network-definition.js'
import { priceOf } from '../../src/domain/usd-price-for-display.js'
import { countArgument } from '../arguments.js'
import { networkFromEnvironment } from '../network-from-environment.js'
import { json, note, print, printable } from '../output.js'
import { whileWaiting } from '../spinner.js'

interface BazaarFlags {
  readonly search?: string
  readonly limit: number
  readonly facilitator?: string
  readonly json?: boolean
}

const PAGE_ENTRIES_MAX = 100

export function bazaarCommand(program: Command): void {
  program
    .command('bazaar')
    .description('list what others sell, from a facilitator’s index; free, no wallet')
    .option('--search <term>', 'only what has the term in its URL, name, description or tags')
    .option(
      '--limit <count>',
      `how many entries to read, 1 to ${PAGE_ENTRIES_MAX}`,
      countArgument,
      PAGE_ENTRIES_MAX,
    )
    .option('--facilitator <url>', 'whose index (default: the one that serve uses)')
    .option('--json', 'print the entries as JSON')
    .addHelpText(
      'after',
      `
One page is read, and searched here: what is not found may be on another page.

Example:
  $ svc bazaar --search weather`,
    )
    .action(bazaar)
}

async function bazaar({ search, limit, facilitator, json: asJson }: BazaarFlags): Promise<void> {
  const { findInBazaar, listBazaar } = await import('../../src/client.js')
  const options = { limit, facilitatorUrl: facilitator }
  const reading = search === undefined ? listBazaar(options) : findInBazaar(search, options)
  const answer = await whileWaiting('reading the index', reading)
  if (!answer.ok) throw new SvcError(answer.error, 'bazaar_unavailable')
  if (asJson) return print(json(answer.resources, 2))
  if (answer.resources.length > 0) print(...answer.resources.flatMap(described))
  else note(`Nothing of that is among the first ${limit} entries.`)
}

function described({ resourceUrl, accepts, description }: BazaarResource): string[] {
  const own = networkFacts(networkFromEnvironment())
  const prices = accepts.map(entry => {
    const usd = priceOf(entry, own.given)
    const network = networkOf(entry.network, own)?.name ?? String(entry.network)
    return usd === null ? `on ${network}` : `$${usd} on ${network}`
  })
  const head = printable(`${resourceUrl}  ${prices.join(', ')}`)
  return description ? [head, `  ${printable(description)}`] : [head]
}
