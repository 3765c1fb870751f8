/** A facilitator in this process, read as strictly as one that is far away: the same reader decides what its answers mean. */
import { SvcError } from '../../domain/errors.js'
import { isIdOf, type NetworkFacts } from '../../domain/network.js'
import type { PaymentPayload, PaymentRequirements } from '../../domain/x402.js'
import type { ProtocolFacilitator } from '../../ports/facilitator.js'
import { settlementOf, verificationOf } from './verdict-of-response.js'
import type { FacilitatorStatus, X402Facilitator } from './x402-facilitator.js'

/**
 * `undefined` for a facilitator that does not list this network. Whoever made the facilitator closes it.
 *
 * @param askerId of this server, and of no other
 */
export function facilitatorInProcess(
  own: ProtocolFacilitator,
  network: NetworkFacts,
  askerId: string,
): X402Facilitator | undefined {
  const kind = own.supported().kinds.find(({ network: id }) => isIdOf(network, id))
  if (!kind) return undefined
  const supported = { network: kind.network, feePayer: kind.extra.feePayer }
  const asker = { id: askerId, inProcess: true }
  let lastError: string | undefined
  let answered = false
  const hasAnswered = () => {
    answered ||= own.condition().node === 'ok'
    return answered
  }

  async function ask<A extends object>(what: string, question: () => Promise<A>): Promise<A | string> {
    try {
      const answer = await question()
      lastError = undefined
      return answer
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      // Health is public: the words may say where the node is.
      lastError = `${what}: ${error instanceof SvcError ? error.code : 'internal_error'}`
      return why
    }
  }

  return {
    // What health, manifests and cards show where others show a URL.
    url: `in-process:${own.sponsor}`,
    supported: () => supported,
    isUp: async () => (await own.check()).node === 'ok',
    async verify(payment: PaymentPayload, requirements: PaymentRequirements) {
      const answer = await ask('verify', () => own.verify(payment, requirements))
      if (typeof answer === 'string') return { verdict: 'unreachable', cause: answer }
      return verificationOf({ status: 200, body: { ...answer } })
    },
    async settle(payment: PaymentPayload, requirements: PaymentRequirements) {
      const answer = await ask('settle', () => own.settle(payment, requirements, asker))
      if (typeof answer === 'string') return { verdict: 'unknown', cause: answer }
      return settlementOf({ status: 200, body: { ...answer } })
    },
    get status(): FacilitatorStatus {
      return { answered: hasAnswered(), ...(lastError !== undefined && { lastError }) }
    },
    async ready() {
      if (!hasAnswered()) await own.check()
      return hasAnswered()
    },
    close: async () => {},
  }
}
