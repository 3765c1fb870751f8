/** A facilitator of one's own over a node that fails as a test says, and payments to the sandbox's seller. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { algodClient } from '../../src/adapters/algorand/algod-and-indexer.js'
import { algorandPaymentSigner } from '../../src/adapters/algorand/sign-payment-group.js'
import { signingKey } from '../../src/adapters/algorand/signing-keys.js'
import { TESTNET } from '../../src/domain/network.js'
import {
  createFacilitator,
  type FacilitatorAppOptions,
  type FacilitatorOptions,
  facilitatorApp,
} from '../../src/facilitator.js'
import type { ProtocolFacilitator } from '../../src/ports/facilitator.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { faultyNode } from '../support/faulty-node.js'
import { payerOf } from '../support/sandbox-payment.js'
import { skippableClock } from '../support/skippable-clock.js'

export async function rig(options: Partial<FacilitatorOptions> = {}) {
  const sandbox = await startSandbox()
  const node = await faultyNode(sandbox)
  const sponsor = sandbox.accounts('own sponsor')
  // A node has two seconds to answer, and five where it submits.
  const { clock, pass } = skippableClock(2_000)
  const make = (changes: Partial<FacilitatorOptions> = {}) => {
    const facilitator = createFacilitator({
      network: 'testnet',
      algodUrl: node.url,
      sponsor: { mnemonic: sponsor.mnemonic },
      payTo: [sandbox.seller.address],
      clock,
      ...options,
      ...changes,
    })
    onTestFinished(() => facilitator.close())
    return facilitator
  }
  onTestFinished(async () => {
    await node.close()
    await sandbox.close()
  })
  return {
    sandbox,
    node,
    pass,
    sponsor,
    make,
    facilitator: make(),
    pay: paymentsOn(sandbox, sponsor.address),
  }
}

/** Payments by the sandbox's wallet whose fees the sponsor pays. */
export function paymentsOn(sandbox: Sandbox, feePayer: string, mnemonic = sandbox.wallet.mnemonic) {
  const signer = algorandPaymentSigner({
    key: signingKey(mnemonic),
    network: TESTNET,
    // A test may advance the rounds within a moment.
    paramsMaxAgeMs: 0,
    algod: algodClient({ url: sandbox.algodUrl, nodeTimeoutMs: 20_000 }),
  })
  const pay = payerOf(sandbox, signer)
  return async (changes = {}) => {
    const { body, txId } = await pay({ extra: { feePayer }, ...changes })
    return { payload: body.paymentPayload, requirements: body.paymentRequirements, txId }
  }
}

/** The sponsor's microalgos and the seller's USDC that moved while `work` was done. */
export async function moved(sandbox: Sandbox, sponsor: string, work: () => Promise<unknown>) {
  const { seller } = sandbox
  const before = [sandbox.balance(sponsor).microAlgos, sandbox.balance(seller.address).usdc ?? 0n] as const
  await work()
  return {
    fees: before[0] - sandbox.balance(sponsor).microAlgos,
    paid: (sandbox.balance(seller.address).usdc ?? 0n) - before[1],
  }
}

/** The URL of the facilitator's REST. */
export async function listening(
  facilitator: ProtocolFacilitator,
  options: FacilitatorAppOptions = {},
): Promise<string> {
  const server = createServer(facilitatorApp(facilitator, options).callback()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
