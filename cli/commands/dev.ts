/** `svc dev`: runs an agent during development. */
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { portArgument } from '../arguments.js'
import { command } from '../define-command.js'
import { interruption, programAt, runDevLoop } from '../dev/find-and-run-program.js'
import type { LocalNetwork } from '../dev/local-network.js'
import type { Report } from '../dev/preloaded-reporter.js'
import { callTold, failureTeller, logTold } from '../dev/print-reports.js'
import { type SourceChanges, sourceChanges } from '../dev/source-changes.js'
import { ownNetworkIfAny } from '../networks.js'
import { json, note, print, printable, type Shown } from '../output.js'
import { packageFacts } from '../package.js'

export const devCommand = command({
  name: 'dev',
  says: 'run an agent, TypeScript as it stands (Node 22.6 or newer), anew at each change',
  takes: [
    ['[entry]', 'the program (default: src/index, index or agent, .ts or .js; else "main" of package.json)'],
  ],
  flags: [
    ['--sandbox', 'start a sandbox beside it, and print a first paid call'],
    ['--localnet', 'the same on AlgoKit LocalNet, as svc localnet readies it', { conflicts: 'sandbox' }],
    ['--port <port>', 'sets PORT for the agent', portArgument],
    ['--no-watch', 'run it once'],
    ['--json', 'print a line of JSON whenever it is ready; what the agent prints stays as it is'],
  ],
  help: `
A change of the entry, or of a file that it imports, starts it anew, with the windows, balances and answers that it had in memory; a
change of an installed package does not. A folder without @svc/sdk gets that of this command. With --sandbox the agent gets SVC_SANDBOX and SVC_NETWORK=testnet, and SVC_PAY_TO
where it is not set. With --localnet it gets SVC_NETWORK=localnet.json, a file that is written here, and SVC_PAY_TO where it
is not set or cannot be paid there.

Examples:
  $ svc dev
  $ svc dev agents/oracle.ts --sandbox --port 4030`,
}).does(async (named, flags) => {
  const entry = programAt(named)
  const stop = interruption()
  const networks = flags.localnet || flags.sandbox ? await import('../dev/local-network.js') : undefined
  const local = await (flags.localnet ? networks?.startLocalnetNetwork() : networks?.startSandboxNetwork())
  const lent = `svc dev: no @svc/sdk is installed here, so the agent gets ${packageFacts().version}, that of svc`
  let isLent = false
  const sources = new Set([entry.path])
  let changes: SourceChanges | undefined
  try {
    const env = environment(flags.port, local)
    if (flags.watch) changes = await sourceChanges(entry.path)
    note(`svc dev: ${printable(entry.shown)}${changes ? ', anew at each change of what it imports' : ''}`)
    process.exitCode = await runDevLoop({
      entry,
      env,
      changes,
      interruption: stop,
      onSource: (path, signature) => {
        sources.add(path)
        changes?.add(path, signature)
      },
      onReport: reporter(offerTeller(local, flags, sources)),
      onLentSdk: () => {
        if (!isLent) note(lent)
        isLent = true
      },
      say: line => note(`svc dev: ${printable(line)}`),
    })
  } finally {
    changes?.close()
    await local?.close()
  }
})

function environment(port: number | undefined, local: LocalNetwork | undefined): NodeJS.ProcessEnv {
  return {
    SVC_AUDIT: '1',
    SVC_DEV: '1',
    ...process.env,
    ...(port !== undefined && { PORT: String(port) }),
    ...(local && { ...withoutSecrets(), ...local.environment }),
  }
}

/** With play money the agent needs no wallet, and a real one is not for code that is being tried. `undefined`: not handed over. */
function withoutSecrets(): NodeJS.ProcessEnv {
  const secret = /^SVC_(\w+_)?MNEMONIC$|^SVC_SUBSCRIPTION_KEY$/
  const names = Object.keys(process.env).filter(name => secret.test(name))
  return Object.fromEntries(names.map(name => [name, undefined]))
}

/** The trace of the calls by which this learns what is sold: they are none of the developer's. */
const OFFER_TRACE_ID = randomBytes(16).toString('hex')
const OFFER_HEADERS = { traceparent: `00-${OFFER_TRACE_ID}-${randomBytes(8).toString('hex')}-00` }

function reporter(onListening: (port: number) => void): (report: Report) => void {
  const failureTold = failureTeller()
  return report => {
    if ('svcDevPort' in report) onListening(report.svcDevPort)
    else if ('svcDevLog' in report) note(logTold(report.svcDevLog))
    else if ('svcDevFailure' in report) note(...failureTold(report.svcDevFailure))
    else if (report.svcDevCall.traceId !== OFFER_TRACE_ID) note(callTold(report.svcDevCall))
  }
}

const PREFIXES_MAX = 20

/** The paths that stand in the sources: an app that mounts the agent has its prefix there, and says it nowhere before a request. */
function pathsIn(sources: ReadonlySet<string>): string[] {
  const texts = [...sources].flatMap(path => (existsSync(path) ? readFileSync(path, 'utf8') : []))
  const found = texts.flatMap(text => [...text.matchAll(/(['"`])(\/[\w.~/-]*\w)(\/\*\w*)?\1/g)])
  return [...new Set(found.map(([, , path]) => path!))].slice(0, PREFIXES_MAX)
}

function offerTeller(
  local: LocalNetwork | undefined,
  { json: asJson }: Shown,
  sources: ReadonlySet<string>,
): (port: number) => void {
  let last = ''
  const tell = async (port: number) => {
    const { offerAt, offerTold } = await import('../dev/first-call.js')
    const network = local?.network ?? ownNetworkIfAny()?.given
    const prefixes = ['', ...pathsIn(sources)]
    const offer = await offerAt(port, { network, headers: OFFER_HEADERS, prefixes })
    if (!offer) return
    const { url, manifest, call } = offer
    if (asJson) return print(json({ url, manifest, call, ...local?.told }))
    const lines = offerTold(offer, local?.exports)
    if (lines.join('\n') === last) note(`svc dev: ready again on ${url}`)
    else print(...lines)
    last = lines.join('\n')
  }
  return port => void tell(port)
}
