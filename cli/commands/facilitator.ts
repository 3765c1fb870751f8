/** `svc facilitator`: settles payments over your own node and pays their fees, for servers that reach it by HTTP. */
import { SvcError } from '../../src/domain/index.js'
import { serveFacilitator } from '../../src/facilitator/serve-facilitator.js'
import { createFacilitator } from '../../src/facilitator.js'
import { hostArgument, portArgument, required, urlArgument, wholeArgument } from '../arguments.js'
import { command } from '../define-command.js'
import { signalled } from '../exit.js'
import { NETWORK_OPTION, networkOfFlags } from '../networks.js'
import { json, STDERR_LOGGER, tell } from '../output.js'
import { taken, wordsInFile } from '../wallet-words.js'

const PORT = 4022
const anyWhole = wholeArgument(0, 1e15, 'It is a whole number.')

export const facilitatorCommand = command({
  name: 'facilitator',
  says: 'settle payments over your own node, and pay their fees',
  flags: [
    NETWORK_OPTION,
    [
      '--algod <url>',
      'your Algorand node (default: SVC_SANDBOX, or the network file’s); its token is SVC_ALGOD_TOKEN',
      urlArgument,
    ],
    ['--pay-to <address...>', "addresses whose payments it settles, or 'anyone' (required)"],
    ['--sponsor-file <file>', 'a file with the 25 words of the sponsor that only its owner can read'],
    ['--port <port>', 'port; 0 takes any', portArgument, PORT],
    ['--host <host>', 'address to listen on; 0.0.0.0 is every interface', hostArgument, '127.0.0.1'],
    ['--amount-min <usd>', 'smallest payment that it settles, such as 0.001 (default: 0.000001)'],
    ['--fee-per-payment-max <microalgos>', 'most that one payment may cost (default: 10000)', anyWhole],
    ['--fee-per-day-max <microalgos>', 'most that a day may cost (default: 1000000)', anyWhole],
    [
      '--per-minute <count>',
      'most verifications of one address, and ten times as many settlements (default: 600)',
      anyWhole,
    ],
    ['--trust-proxy <count>', 'how many proxies in front report the caller (default: 0)', anyWhole],
    ['--json', 'print one line of JSON'],
  ],
  help: `
The sponsor's 25 words are read from SVC_SPONSOR_MNEMONIC or from --sponsor-file. They are never an argument.
Servers that send the token in SVC_FACILITATOR_TOKEN are not limited by --per-minute.

Example:
  $ svc facilitator --network testnet --algod http://127.0.0.1:4001 --pay-to ADDRESS --sponsor-file sponsor.txt`,
}).does(async flags => {
  const { perMinute, trustProxy } = flags
  const network = networkOfFlags(flags)
  const payTo = required(flags.payTo, '--pay-to')
  const algodUrl = flags.algod ?? (process.env.SVC_SANDBOX || undefined)
  if (algodUrl === undefined && typeof network.given === 'string')
    throw new SvcError('--algod is the URL of your node', 'invalid_options')
  const algodToken = taken('SVC_ALGOD_TOKEN')
  const token = taken('SVC_FACILITATOR_TOKEN')
  const stopped = signalled()
  const facilitator = createFacilitator({
    network: network.given,
    algodUrl,
    algodToken,
    sponsor: { mnemonic: await readSponsor(flags.sponsorFile) },
    payTo: payTo.length === 1 && payTo[0] === 'anyone' ? 'anyone' : payTo,
    amountMin: flags.amountMin,
    feePerPaymentMax: flags.feePerPaymentMax,
    feePerDayMax: flags.feePerDayMax,
    logger: STDERR_LOGGER,
  })
  const options = { perMinute, token, trustProxy, logger: STDERR_LOGGER }
  const served = await serveFacilitator(facilitator, { port: flags.port, host: flags.host, options })
  const { url } = served
  const { sponsor } = facilitator
  tell(flags, json({ url, network: network.key, sponsor, payTo }), [
    ['facilitator', `${url} (${network.name})`],
    ['sponsor', sponsor],
    ['pay to', payTo.join(', ')],
  ])
  await stopped
  await served.close()
})

export async function readSponsor(path: string | undefined): Promise<string> {
  const words = taken('SVC_SPONSOR_MNEMONIC')
  if (path !== undefined) return wordsInFile(path, 'sponsor_file_unusable')
  if (words !== undefined) return words
  throw new SvcError(
    'SVC_SPONSOR_MNEMONIC is not set, and no --sponsor-file is given: one of them has the 25 words of the sponsor',
    'no_signer',
  )
}
