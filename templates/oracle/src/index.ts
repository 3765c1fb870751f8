/** Serves the oracle where the environment says. `ORACLE_MNEMONIC` signs the quotes; it is not the wallet that is paid. */
import { networkFrom, serve } from '@svc/sdk'
import { agentFor } from './agent.ts'
import { quoteSigner } from './signed-quote.ts'
import { sourceFrom } from './source.ts'

const { SVC_PAY_TO: payTo, SVC_NETWORK: network, SVC_SANDBOX: sandbox } = process.env
const mnemonic = process.env.ORACLE_MNEMONIC || undefined
// No child process or crash report finds it there.
delete process.env.ORACLE_MNEMONIC

if (!payTo || (!mnemonic && !sandbox)) {
  console.error('Set SVC_PAY_TO (who is paid) and ORACLE_MNEMONIC (who signs); `npm run dev` needs neither.')
  process.exit(1)
}

const signer = quoteSigner(mnemonic)
console.log(`quotes are signed by ${signer.address}`)
serve(agentFor({ payTo, network: networkFrom(network), signer, source: sourceFrom(process.env) }), {
  // A caller that lost its answer asks again with the same Idempotency-Key, and gets it without paying again.
  idempotency: { onLostResponse: 'replay' },
})
