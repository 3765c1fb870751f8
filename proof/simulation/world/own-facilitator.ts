/** The product's own facilitator in a process of the seller, over a node that takes transactions. */

import { createFacilitator, type ProtocolFacilitator } from '../../../src/facilitator.js'
import { simulatedNodes } from '../kernel/platform.js'
import type { Process } from '../kernel/process.js'
import { keyOf, secretKeyOf } from './accounts.js'
import type { World } from './world.js'

export function ownFacilitator(world: World, process: Process): ProtocolFacilitator {
  const algodUrl = `https://${process.name}.own-node.example`
  simulatedNodes.set(algodUrl, world.node.ownExchangeFor(process))
  process.onDeath(() => simulatedNodes.delete(algodUrl))
  const own = createFacilitator({
    network: 'testnet',
    algodUrl,
    sponsor: { secretKey: secretKeyOf('sponsor') },
    payTo: [keyOf('seller').address],
    logger: world.logger,
    clock: process.clock,
  })
  const asBody = (paymentPayload: unknown) => Buffer.from(JSON.stringify({ paymentPayload }))
  return {
    ...own,
    verify(payload, requirements) {
      world.questions.verify('own-facilitator', asBody(payload))
      return own.verify(payload, requirements)
    },
    settle(payload, requirements, asker) {
      world.truth.settleSent(process.name, asBody(payload))
      world.truth.settleAsked(asBody(payload))
      world.point(process, `${process.name}>own-facilitator/settle`)
      return own.settle(payload, requirements, asker)
    },
  }
}
