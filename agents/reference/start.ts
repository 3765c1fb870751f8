/**
 * `npm start`: the reference agent. With `SVC_PAY_TO` set it sells for real, on `SVC_NETWORK`. Without, it runs on a
 * sandbox, shows one paid call, and stays up for more.
 */
import { DEFAULT_PORT } from '../../src/app/options.js'
import type { SvcError } from '../../src/index.js'
import { BASE_PATH } from './agent.js'
import { bold, dim } from './paint.js'
import { serveReference } from './serve.js'
import { openStage } from './stage.js'
import { SAMPLE, walk } from './walk.js'

try {
  if (process.env.SVC_PAY_TO) serveReference(process.env)
  else await practise()
} catch (error) {
  const { message, code } = error as SvcError
  console.error(`svc: ${message} (${code})`)
  process.exitCode = 1
}

async function practise(): Promise<void> {
  const port = Number(process.env.PORT || DEFAULT_PORT)
  console.log(bold('The reference agent'), dim('on a sandbox; set SVC_PAY_TO to sell for real'))
  const stage = await openStage({ port, handleSignals: true })
  await walk(stage)
  const { sandbox, endpointUrl } = stage
  const body = JSON.stringify({ text: SAMPLE.text, max: 180 })
  console.log(`
${bold('Still serving.')} Paste this into another terminal, here:

  export SVC_SANDBOX=${sandbox.url}
  export SVC_MNEMONIC='${sandbox.wallet.mnemonic}'
  node dist/cli/main.js quote ${endpointUrl}
  node dist/cli/main.js call ${endpointUrl} --max-price 0.01 --network testnet --body '${body}'

${dim(`Endpoints and health are under ${BASE_PATH}. Ctrl-C stops it.`)}`)
  await stage.stopped
}
