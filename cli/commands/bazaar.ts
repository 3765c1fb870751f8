/** `svc bazaar`: the offers of other sellers. Their texts are from strangers: the command shows them, and never acts on them. */
import type { BazaarAnswer, BazaarResource, WholeBazaarAnswer } from '../../src/client.js'
import { networkOf, priceOf, primitiveText, SvcError } from '../../src/domain/index.js'
import { urlArgument, wholeArgument } from '../arguments.js'
import { command } from '../define-command.js'
import { EXIT } from '../exit.js'
import { facilitatorOf, ownNetworkIfAny } from '../networks.js'
import { json, note, print, printable, whileWaiting } from '../output.js'

const PAGE_ENTRIES_MAX = 100

export const bazaarCommand = command({
  name: 'bazaar',
  says: 'list what others sell, from a facilitator’s index; free, no wallet',
  flags: [
    ['--search <term>', 'only what has the term in its URL, name, description or tags'],
    [
      '--limit <count>',
      `how many entries to read, 1 to ${PAGE_ENTRIES_MAX}`,
      wholeArgument(1, 100),
      PAGE_ENTRIES_MAX,
    ],
    ['--all', 'read every page of the index, of --limit entries each'],
    [
      '--facilitator <url>',
      'whose index (default: the one that serve uses on the network of SVC_NETWORK)',
      urlArgument,
    ],
    ['--json', 'print the entries as JSON'],
  ],
  help: `
One page is read, and searched here: what is not found may be on another page. With --all, the exit code is 1 where the
index could not be read to its end.

Example:
  $ svc bazaar --all --search weather`,
}).does(async ({ search, limit, all, facilitator, json: asJson }) => {
  const [{ listBazaar, listWholeBazaar }, { mentions }] = await Promise.all([
    import('../../src/client.js'),
    import('../../src/checks/index.js'),
  ])
  const options = { limit, facilitatorUrl: facilitator ?? ownFacilitator() }
  const reading = all ? listWholeBazaar(options) : listBazaar(options)
  const answer = await whileWaiting<WholeBazaarAnswer | BazaarAnswer>('reading the index', reading)
  if (!answer.ok) throw new SvcError(answer.error, 'bazaar_unavailable')
  const found = answer.resources.filter(resource => search === undefined || mentions(resource, search))
  if (asJson) print(json(found, 'indented'))
  else if (found.length > 0) print(...found.flatMap(described))
  else note(all ? 'No match in the index.' : `No match in the first ${limit} entries.`)
  if (!('complete' in answer) || answer.complete) return
  note(`The index was not read to its end: ${printable(answer.stopped)}.`)
  process.exitCode = EXIT.failed
})

/** A definition names the facilitator of its network, whose index it is. `undefined`: the network cannot be read. */
function ownFacilitator(): string | undefined {
  const own = ownNetworkIfAny()
  if (own === undefined) return undefined
  const url = facilitatorOf(own, undefined)
  if (url !== undefined) return url
  throw new SvcError(`There is no facilitator for ${own.name}: give --facilitator`, 'invalid_options')
}

function described({ resourceUrl, accepts, description }: BazaarResource): string[] {
  const own = ownNetworkIfAny()
  const prices = accepts.map(entry => {
    const usd = priceOf(entry, own?.given)
    const network =
      networkOf(entry.network, own)?.name ?? primitiveText(entry.network) ?? 'a network without a name'
    return usd === null ? `on ${network}` : `$${usd} on ${network}`
  })
  const head = printable(`${resourceUrl}  ${prices.join(', ')}`)
  return description ? [head, `  ${printable(description)}`] : [head]
}
