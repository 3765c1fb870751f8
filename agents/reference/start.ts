/**
 * The reference agent, as the image runs it. `SVC_PAY_TO` says who is paid, on `SVC_NETWORK`; without it the process exits 1. It
 * practises only when it is asked to: `--or-sandbox` (which `npm start` gives) starts a sandbox where `SVC_PAY_TO` is missing,
 * shows one paid call and stays up for more; `SVC_SANDBOX` names a sandbox that runs already, whose seller is then paid.
 */
import { parseArgs } from 'node:util'
import { systemError } from '../../cli/system-error.js'
import { DEFAULT_PORT } from '../../src/app/server/options/server-options.js'
import { SvcError } from '../../src/index.js'
import { BASE_PATH } from './agent.js'
import { startOnSandbox } from './on-sandbox.js'
import { bold, dim } from './paint.js'
import { type Environment, serveReference } from './serve.js'
import { SAMPLE, walk } from './walk.js'

try {
  const { values: flags } = parseArgs({ options: { 'or-sandbox': { type: 'boolean' } } })
  const environment: Environment = process.env
  const { SVC_PAY_TO: payTo, SVC_SANDBOX: sandboxUrl, SVC_NETWORK: network } = environment
  if (sandboxUrl) console.warn(`Play money: node and facilitator are the sandbox at ${sandboxUrl}`)
  // A sandbox's money is testnet's. Whoever names mainnet has forgotten the address.
  const mayPractise = !payTo && (network || 'testnet') === 'testnet'
  if (mayPractise && sandboxUrl)
    serveReference({ ...environment, SVC_PAY_TO: await sellerOn(sandboxUrl) }).once('error', failed)
  else if (mayPractise && flags['or-sandbox']) await practise()
  else serveReference(environment).once('error', failed)
} catch (error) {
  failed(error)
}

function failed(error: unknown): void {
  const { message, code } = systemError(error) ?? (error as SvcError)
  console.error(`svc: ${message} (${code})`)
  process.exitCode = 1
}

async function sellerOn(sandboxUrl: string): Promise<string> {
  const overview = (await fetch(new URL('/sandbox', sandboxUrl), { signal: AbortSignal.timeout(5_000) })
    .then(response => response.json())
    .catch(() => undefined)) as { seller?: unknown } | undefined
  if (typeof overview?.seller === 'string') return overview.seller
  throw new SvcError(
    `SVC_PAY_TO is missing, and no sandbox answers at SVC_SANDBOX (${sandboxUrl}) to say who is paid there`,
    'invalid_address',
  )
}

async function practise(): Promise<void> {
  const port = Number(process.env.PORT || DEFAULT_PORT)
  console.log(bold('The reference agent'), dim('on a sandbox; set SVC_PAY_TO to sell for real'))
  const running = await startOnSandbox({ port, handleSignals: true })
  await walk(running)
  const { sandbox, endpointUrl } = running
  const body = JSON.stringify({ text: SAMPLE.text, max: 180 })
  console.log(`
${bold('Still serving.')} Paste this into another terminal, here:

  export SVC_SANDBOX=${sandbox.url}
  export SVC_MNEMONIC='${sandbox.wallet.mnemonic}'
  node dist/cli/main.js quote ${endpointUrl}
  node dist/cli/main.js call ${endpointUrl} --max-price 0.01 --network testnet --body '${body}'

${dim(`Endpoints and health are under ${BASE_PATH}. Ctrl-C stops it.`)}`)
  await running.stopped
}
