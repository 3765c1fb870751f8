/** Calls at their end, for tests of what is told of them. */

import type { ReplayedAnswer } from '../../src/app/charge/call-at-work.js'
import { termsOf } from '../../src/app/charge/payment-challenge.js'
import type { EndpointDef } from '../../src/domain/endpoint.js'
import { type ChargeFinal, OUTCOMES } from '../../src/domain/machines/charge.machine.js'
import { TESTNET } from '../../src/domain/network.js'
import type { CallFields } from './call-fields.js'
import { PAYMENT, REQUIREMENTS, type Scene, scene } from './charge-fixture.js'
import { TESTNET_USDC } from './one-call.js'

export const ANSWER = { status: 201, headers: {}, body: 'of this call' } as const
export const KEPT = { status: 200, headers: {}, body: 'of an earlier call' } as const
export const WINDOW = { key: 'svc_this', id: 'window', expiresAtMs: 5 }
export const REPLAYED: ReplayedAnswer = {
  answer: KEPT,
  txId: 'EARLIER',
  payer: 'EARLIER PAYER',
  amount: '7',
  asset: TESTNET_USDC,
  window: { key: 'svc_earlier', expiresAtMs: 4 },
}
export const FINALS = Object.keys(OUTCOMES) as ChargeFinal[]
export const walked = (final: ChargeFinal, path: readonly string[] = ['received.admitted']) =>
  ({ final, path, timingsMs: [1.5] }) as const

const TERMS = termsOf({ name: 'work', description: 'Works.', amount: '10000' } as EndpointDef, {
  network: TESTNET,
  payTo: 'SELLER',
  maxTimeoutSeconds: 60,
  networkIds: 'both',
})

/** A call that has everything that any end could tell. */
export function full(call: CallFields = {}, rest: Omit<Scene, 'call'> = {}) {
  return scene({
    endpoint: { terms: TERMS },
    ...rest,
    request: { payment: PAYMENT, ...rest.request },
    call: { answer: ANSWER, requirements: REQUIREMENTS, sold: WINDOW, replayed: REPLAYED, ...call },
  })
}
