/** `svc doctor`: one line for each condition that must hold before a caller can pay, and how to fix it if it does not. */
import type { Command } from 'commander'
import type { Network } from '../../src/domain/network.js'
import { networkArgument } from '../arguments.js'
import type { Finding } from '../doctor/finding.js'
import { EXIT } from '../exit.js'
import { networkFromEnvironment } from '../network-from-environment.js'
import { columns, json, print } from '../output.js'
import { whileWaiting } from '../spinner.js'

interface DoctorFlags {
  readonly network?: Network
  readonly payTo?: string
  readonly facilitator?: string
  readonly algod?: string
  readonly json?: boolean
}

export function doctorCommand(program: Command): void {
  program
    .command('doctor')
    .description('check that an agent can be paid from here; exit code 1 if anything is wrong')
    .option(
      '--network <network>',
      'mainnet or testnet (default: SVC_NETWORK, else mainnet; testnet with SVC_SANDBOX)',
      networkArgument,
    )
    .option('--pay-to <address>', 'who is paid (default: SVC_PAY_TO)')
    .option('--facilitator <url>', 'who verifies and settles (default: the one that serve uses)')
    .option('--algod <url>', 'an Algorand node (default: the one that serve uses)')
    .option('--json', 'print the findings as JSON')
    .addHelpText('after', '\nExample:\n  $ SVC_PAY_TO=<address> svc doctor --network testnet')
    .action(doctor)
}

async function doctor(flags: DoctorFlags): Promise<void> {
  const network = flags.network ?? networkFromEnvironment()
  const { examine } = await import('../doctor/examine.js')
  const findings = await whileWaiting(
    `checking ${network}`,
    examine({
      network,
      payTo: flags.payTo ?? process.env.SVC_PAY_TO,
      facilitatorUrl: flags.facilitator,
      algodUrl: flags.algod,
    }),
  )
  const ok = findings.every(({ status }) => status === 'ok')
  if (flags.json) print(json({ ok, network, findings }, 2))
  else print(...told(findings))
  if (!ok) process.exitCode = EXIT.failed
}

const MARKS = { ok: 'ok', failed: 'FAILED', skipped: 'skipped' } as const

function told(findings: readonly Finding[]): string[] {
  const lines = columns(
    findings.map(({ check, status, message }) => [check, `${MARKS[status].padEnd(7)}  ${message}`]),
  )
  return findings.flatMap(({ cure }, at) => (cure ? [lines[at]!, `  -> ${cure}`] : [lines[at]!]))
}
