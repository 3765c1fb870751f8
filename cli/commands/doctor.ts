/** `svc doctor`: one line for each condition that must hold before a caller can find and pay, and how to fix it if it does not. */
import type { Finding } from '../../src/checks/index.js'
import { SvcError } from '../../src/domain/index.js'
import { urlArgument } from '../arguments.js'
import { command } from '../define-command.js'
import { EXIT } from '../exit.js'
import { ALGOD_OPTION, facilitatorOf, NETWORK_OPTION, networkOfFlags, nodeOf } from '../networks.js'
import { json, printable, type Shown, styled, tell, whileWaiting } from '../output.js'
import { isAtLeast, packageFacts, TYPESCRIPT_SINCE, typeScriptFlags } from '../package.js'

export const doctorCommand = command({
  name: 'doctor',
  says: 'check that an agent can be paid from here; exit code 1 if anything is wrong',
  flags: [
    NETWORK_OPTION,
    ['--pay-to <address>', 'who is paid (default: SVC_PAY_TO)'],
    ['--facilitator <url>', 'who verifies and settles (default: the one that serve uses)', urlArgument],
    [
      '--sponsor <address>',
      "the account that pays the fees, where the facilitator is in the agent's own process",
    ],
    ALGOD_OPTION,
    [
      '--bazaar <url>',
      'examine the agent at this address from outside, as an index does; --facilitator names the index',
    ],
    ['--json', 'print the findings as JSON'],
  ],
  help: '\nExamples:\n  $ SVC_PAY_TO=<address> svc doctor --network testnet\n  $ svc doctor --bazaar https://agent.example',
}).does(async flags => {
  if (flags.sponsor !== undefined && flags.facilitator !== undefined)
    throw new SvcError(
      '--sponsor and --facilitator are two ways to settle: give one of them',
      'invalid_options',
    )
  const network = networkOfFlags(flags)
  const facilitatorUrl = facilitatorOf(network, flags.facilitator)
  const { listingChecks, sellingChecks } = await import('../../src/checks/index.js')
  const { bazaar: url } = flags
  if (url !== undefined) {
    const examining = listingChecks({ url, network, facilitatorUrl })
    return report({ url }, await whileWaiting(`examining ${printable(url)}`, examining), flags)
  }
  const node = nodeOf(network, flags.algod)
  const examining = sellingChecks({
    network,
    payTo: flags.payTo ?? process.env.SVC_PAY_TO,
    facilitatorUrl,
    sponsor: flags.sponsor,
    // No other node gets the token.
    node: { ...node, token: (flags.algod && process.env.SVC_ALGOD_TOKEN) || node.token },
    isSandbox: node.url === process.env.SVC_SANDBOX,
  })
  const findings = await whileWaiting(`checking ${network.name}`, examining)
  report({ network: network.key }, [nodeVersion(), ...findings], flags)
})

function nodeVersion(): Finding {
  const wanted = packageFacts().engines.node.replace('>=', '')
  const { version } = process
  const check = 'Node version'
  if (!isAtLeast(wanted)) {
    const cure = `Install Node ${TYPESCRIPT_SINCE} or newer.`
    return { check, status: 'failed', message: `${version} is older than ${wanted}`, cure }
  }
  const dev = typeScriptFlags()
    ? 'svc dev runs TypeScript'
    : `svc dev runs JavaScript here, and TypeScript from ${TYPESCRIPT_SINCE}`
  return { check, status: 'ok', message: `${version}; ${dev}` }
}

function report(what: object, findings: readonly Finding[], flags: Shown): void {
  const ok = findings.every(({ status }) => status === 'ok')
  tell(flags, json({ ok, ...what, findings }, 'indented'), told(findings))
  if (!ok) process.exitCode = EXIT.failed
}

const MARKS = { ok: ['green', 'ok     '], failed: ['red', 'FAILED '], skipped: ['dim', 'skipped'] } as const

function told(findings: readonly Finding[]): string[] {
  const width = Math.max(...findings.map(({ check }) => check.length))
  return findings.flatMap(({ check, status, message, cure }) => {
    const [style, mark] = MARKS[status]
    const line = `${check.padEnd(width)}  ${styled(style, mark)}  ${printable(message)}`
    return cure ? [line, `  -> ${cure}`] : [line]
  })
}
