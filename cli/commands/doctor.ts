/** `svc doctor`: one line for each condition that must hold before a caller can find and pay, and how to fix it if it does not. */
import type { Command } from 'commander'
import { SvcError } from '../../src/domain/errors.js'
import type { Network, NetworkFacts } from '../../src/domain/network.js'
import { networkFacts } from '../../src/domain/network-definition.js'
import { ALGOD_OPTION, NETWORK_OPTION, urlArgument } from '../arguments.js'
import type { Finding } from '../checks/finding.js'
import { EXIT } from '../exit.js'
import { networkFromEnvironment } from '../network-from-environment.js'
import { json, print, printable, styled } from '../output.js'
import { whileWaiting } from '../spinner.js'

interface DoctorFlags {
  readonly network?: Network
  readonly payTo?: string
  readonly facilitator?: string
  readonly sponsor?: string
  readonly algod?: string
  readonly bazaar?: string
  readonly json?: boolean
}

export function doctorCommand(program: Command): void {
  program
    .command('doctor')
    .description('check that an agent can be paid from here; exit code 1 if anything is wrong')
    .option(...NETWORK_OPTION)
    .option('--pay-to <address>', 'who is paid (default: SVC_PAY_TO)')
    .option('--facilitator <url>', 'who verifies and settles (default: the one that serve uses)', urlArgument)
    .option(
      '--sponsor <address>',
      "the account that pays the fees, where the facilitator is in the agent's own process",
    )
    .option(...ALGOD_OPTION)
    .option(
      '--bazaar <url>',
      'examine the agent at this address from outside, as an index does; --facilitator names the index',
    )
    .option('--json', 'print the findings as JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  $ SVC_PAY_TO=<address> svc doctor --network testnet\n  $ svc doctor --bazaar https://agent.example',
    )
    .action(doctor)
}

async function doctor(flags: DoctorFlags): Promise<void> {
  if (flags.sponsor !== undefined && flags.facilitator !== undefined)
    throw new SvcError(
      '--sponsor and --facilitator are two ways to settle: give one of them',
      'invalid_options',
    )
  const network = networkFacts(flags.network ?? networkFromEnvironment())
  if (flags.bazaar !== undefined) return examineFromOutside(flags.bazaar, network, flags)
  const { examine } = await import('../doctor/examine.js')
  const findings = await whileWaiting(
    `checking ${network.name}`,
    examine({
      network,
      payTo: flags.payTo ?? process.env.SVC_PAY_TO,
      facilitatorUrl: flags.facilitator,
      sponsor: flags.sponsor,
      algodUrl: flags.algod,
      // No other node gets it.
      algodToken: flags.algod && process.env.SVC_ALGOD_TOKEN,
    }),
  )
  report({ network: network.key }, findings, flags)
}

async function examineFromOutside(url: string, network: NetworkFacts, flags: DoctorFlags): Promise<void> {
  const { examineListing } = await import('../doctor/examine-listing.js')
  const { remotesOf } = await import('../../src/app/server/remotes-from-options.js')
  const { facilitatorsElsewhere } = remotesOf({ facilitatorUrl: flags.facilitator }, network)
  const facilitatorUrl = facilitatorsElsewhere[0]?.url
  const examining = examineListing({ url, network, facilitatorUrl })
  report({ url }, await whileWaiting(`examining ${printable(url)}`, examining), flags)
}

function report(what: object, findings: readonly Finding[], { json: asJson }: DoctorFlags): void {
  const ok = findings.every(({ status }) => status === 'ok')
  if (asJson) print(json({ ok, ...what, findings }, 'indented'))
  else print(...told(findings))
  if (!ok) process.exitCode = EXIT.failed
}

const MARKS = {
  ok: ['green', 'ok     '],
  failed: ['red', 'FAILED '],
  skipped: ['dim', 'skipped'],
} as const

function told(findings: readonly Finding[]): string[] {
  const width = Math.max(...findings.map(({ check }) => check.length))
  return findings.flatMap(({ check, status, message, cure }) => {
    const [style, mark] = MARKS[status]
    const line = `${check.padEnd(width)}  ${styled(style, mark)}  ${printable(message)}`
    return cure ? [line, `  -> ${cure}`] : [line]
  })
}
