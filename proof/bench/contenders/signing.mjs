/**
 * What it takes a client to answer a quote: from the decoded 402 to the header's text. Ours asks the node for suggested
 * parameters every few seconds, the official client for every payment; that trip is shown by itself, too.
 */
import { toClientAvmSigner } from '@x402/avm'
import { ExactAvmScheme } from '@x402/avm/exact/client'
import { x402Client, x402HTTPClient } from '@x402/core/client'
import { algodClient } from '../../../dist/src/adapters/algorand/algod-and-indexer.js'
import { algorandPaymentSigner } from '../../../dist/src/adapters/algorand/sign-payment-group.js'
import { signingKey } from '../../../dist/src/adapters/algorand/signing-keys.js'
import { TESTNET } from '../../../dist/src/domain/network.js'
import { encodeHeader } from '../../../dist/src/domain/x402.js'
import { median } from '../table.mjs'
import { config } from './child.mjs'

const { algodUrl, quote, rounds, seconds } = config
const secretKey = Buffer.from(config.secretKey, 'base64')
const accepted = quote.accepts[0]

const algod = algodClient({ url: algodUrl })
const signer = algorandPaymentSigner({ key: signingKey(secretKey), network: TESTNET, algod })

const scheme = new ExactAvmScheme(toClientAvmSigner(config.secretKey), { algodUrl })
const official = new x402Client().register('algorand:*', scheme)
const http = new x402HTTPClient(official)

const contenders = {
  ours: async () => encodeHeader((await signer.sign(quote, accepted)).payload),
  '@x402/avm': async () =>
    http.encodePaymentSignatureHeader(await official.createPaymentPayload(quote))['PAYMENT-SIGNATURE'],
  'only the trip to the node': async () => (await fetch(`${algodUrl}/v2/transactions/params`)).text(),
}

const groups = [contenders.ours, contenders['@x402/avm']].map(async build => {
  const { accepted: terms, payload } = JSON.parse(Buffer.from(await build(), 'base64').toString())
  return JSON.stringify([terms, payload.paymentIndex, payload.paymentGroup.map(text => text.length > 0)])
})
const [first, second] = await Promise.all(groups)
if (first !== second) throw new Error(`the two clients answer the quote differently:\n${first}\n${second}`)

const found = Object.keys(contenders).map(name => ({ name, rounds: [], cpuUs: [] }))
for (let round = 0; round <= rounds; round++) {
  for (const { name, rounds: medians, cpuUs } of found) {
    const build = contenders[name]
    const times = []
    const cpu = process.cpuUsage()
    const until = performance.now() + seconds * 1000
    while (performance.now() < until) {
      const start = performance.now()
      await build()
      times.push((performance.now() - start) * 1000)
    }
    const { user, system } = process.cpuUsage(cpu)
    // The first round warms up.
    if (round === 0) continue
    medians.push(median(times))
    cpuUs.push((user + system) / times.length)
  }
}
process.send(found, () => process.exit())
