/** A facilitator of one's own: answers the protocol over one node, and pays the fees with one key. */
import { hash } from 'node:crypto'
import { cachedParams, type SuggestedParams } from '../adapters/algorand/algod-and-indexer.js'
import { nodeClient, unavailable } from '../adapters/algorand/ask-node.js'
import { encodedMember } from '../adapters/algorand/decode-by-algosdk.js'
import { memoryCounters } from '../adapters/memory/counters.js'
import { SdkError, SvcError } from '../domain/errors.js'
import { sharedQuestions } from '../domain/load-once.js'
import { networkIdsOf, otherThan } from '../domain/network.js'
import { memberAt } from '../domain/x402.js'
import { systemClock } from '../ports/clock.js'
import { perMinute } from '../ports/counters.js'
import type {
  Asker,
  CheckedCondition,
  FacilitatorCondition,
  ProtocolFacilitator,
  SettleAnswer,
  VerifyAnswer,
} from '../ports/facilitator.js'
import { type Checked, checkPayment } from './check-before-sponsoring.js'
import { facilitatorNode } from './facilitator-node.js'
import { type FacilitatorOptions, facilitatorSettings } from './facilitator-options.js'
import { feeBudget } from './fee-budget.js'
import { sponsoredGroup } from './official-group-checks.js'
import { begun, type Objection, paymentSettler, type Settlement, simulated } from './settle-payment.js'
import {
  BUDGET_EXHAUSTED,
  codeOf,
  invalid,
  SIMULATION_FAILED,
  settleAnswer,
  supportedAnswer,
  USED_UP,
} from './x402-answers.js'

const PARAMS_MAX_AGE_MS = 3_000
/** Verifications of one payer that fail. More of its payments are not looked at, so that they cost the node nothing. */
const FAILURES_PER_MINUTE = 60

/**
 * Makes a facilitator that settles payments to your addresses over your own node, and pays their fees. Does not wait for the
 * network. Give it to `serve({ facilitator })`, or run it for other servers with `svc facilitator`.
 *
 * @example
 * const sponsor = { mnemonic: process.env.SVC_SPONSOR_MNEMONIC ?? '' }
 * const node = { network: 'testnet', algodUrl: 'http://127.0.0.1:8080' }
 * const facilitator = createFacilitator({ ...node, sponsor, payTo: [agent.payTo] })
 * serve(agent, { facilitator })
 *
 * @throws SvcError `invalid_options`, `invalid_address`, `invalid_key`, `invalid_price`
 */
export function createFacilitator(options: FacilitatorOptions): ProtocolFacilitator {
  const settings = facilitatorSettings(options)
  const { network, key, payTo, feePerDayMax, logger, algodUrl, algodToken } = settings
  const clock = { ...systemClock, ...options.clock }
  const node = facilitatorNode(nodeClient({ url: algodUrl, token: algodToken, clock }))
  const budget = feeBudget(feePerDayMax, clock)
  const settler = paymentSettler({ node, budget, clock, logger })
  const suggested = cachedParams(node, PARAMS_MAX_AGE_MS, () => clock.monotonic())
  const askedSimulation = sharedQuestions<Objection | undefined>()
  const askedCondition = sharedQuestions<CheckedCondition>()
  const failures = memoryCounters({ clock })
  const running = new Set<Promise<unknown>>()
  let nodeIs: FacilitatorCondition['node'] = 'unasked'
  let closing: Promise<void> | undefined

  async function params(): Promise<SuggestedParams> {
    const read = await suggested().catch(error => {
      note('unanswered')
      throw error
    })
    note(otherThan(network, read) === undefined ? 'ok' : 'wrongNetwork')
    if (nodeIs === 'wrongNetwork') throw unavailable('it is of another network')
    return read
  }

  function note(found: FacilitatorCondition['node']): void {
    if (found !== nodeIs && found !== 'ok')
      logger.warn({ node: found }, 'the node of the facilitator cannot be used')
    nodeIs = found
  }

  const settlementOf = (checked: Extract<Checked, { ok: true }>): Settlement => ({
    ...checked,
    group: () => sponsoredGroup(checked, key.sign),
  })

  async function verify(payload: unknown, requirements: unknown): Promise<VerifyAnswer> {
    const checked = checkPayment(payload, requirements, settings, await params())
    const { txId, signer } = checked
    if (signer !== undefined) await admit([signer, txId!])
    const asked = begun(objectionTo(checked))
    // Before every refusal: none is true of a payment that was submitted.
    if (txId !== undefined && (await settler.isSubmitted(txId, checked.dead !== undefined)))
      return invalid(SIMULATION_FAILED, `transaction already submitted: ${txId}`)
    const objection = await asked
    if (checked.ok && !objection) return { isValid: true, payer: checked.payer }
    const { code, words } = objection!
    if (code !== BUDGET_EXHAUSTED && signer !== undefined) await count(signer, txId!)
    return invalid(code, words)
  }

  async function objectionTo(checked: Checked): Promise<Objection | undefined> {
    if (!checked.ok) return { code: codeOf(checked), words: checked.message }
    if (!budget.covers(checked.feeMicroAlgos)) return { code: BUDGET_EXHAUSTED, words: USED_UP }
    if (checked.dead !== undefined) return { code: SIMULATION_FAILED, words: checked.dead }
    const name = hash('sha256', Buffer.concat(checked.group.map(encodedMember)), 'base64url')
    return askedSimulation(() => simulated(node, settlementOf(checked)), name)
  }

  /** A payment counts once against who signed it, and then by itself: whoever else has it can present it, too. */
  async function count(signer: string, txId: string): Promise<void> {
    const { admitted: isFirst } = await failures.take(`first ${txId}`, perMinute(1))
    await failures.take(isFirst ? signer : txId, perMinute(FAILURES_PER_MINUTE))
  }

  async function admit(names: readonly string[]): Promise<void> {
    const verdicts = await Promise.all(names.map(name => failures.peek(name, perMinute(FAILURES_PER_MINUTE))))
    if (verdicts.every(({ admitted }) => admitted)) return
    throw new SvcError('Too many payments of this payer failed. Wait a minute.', 'rate_limited', 429)
  }

  async function settle(payload: unknown, requirements: unknown, asker?: Asker): Promise<SettleAnswer> {
    const checked = checkPayment(payload, requirements, settings, await params())
    const { txId } = checked
    const settled = checked.ok
      ? await settler.settle(settlementOf(checked), asker)
      : await settler.refuse(txId, codeOf(checked), checked.message)
    if (settled.outcome !== 'settled')
      logger.info({ outcome: settled.outcome, txId }, 'a payment was not settled')
    const named = memberAt(requirements, 'network')
    return settleAnswer(settled, { network: typeof named === 'string' ? named : network.caip2, ...checked })
  }

  const condition = (): FacilitatorCondition => ({
    node: nodeIs,
    feesToday: Number(budget.today),
    feePerDayMax: Number(feePerDayMax),
  })

  async function checkNow(): Promise<CheckedCondition> {
    try {
      await params()
      const { microAlgos, minBalanceMicroAlgos } = await node.account(key.address)
      return { ...condition(), sponsorMicroAlgos: Number(microAlgos - minBalanceMicroAlgos) }
    } catch {
      // What the node answered a moment ago does not count.
      if (nodeIs === 'ok') note('unanswered')
      return { ...condition(), sponsorMicroAlgos: null }
    }
  }

  function tracked<T>(work: () => Promise<T>): Promise<T> {
    if (closing) return Promise.reject(new SdkError('The facilitator is closed', 'facilitator_closed', 503))
    const begun = work()
    running.add(begun)
    const end = () => running.delete(begun)
    begun.then(end, end)
    return begun
  }

  return {
    sponsor: key.address,
    supported: () => supportedAnswer(networkIdsOf(network, 'both'), key.address),
    verify: (payload, requirements) => tracked(() => verify(payload, requirements)),
    settle: (payload, requirements, asker) => tracked(() => settle(payload, requirements, asker)),
    pays: receiver => payTo === 'anyone' || payTo.has(receiver),
    condition,
    check: () => askedCondition(checkNow),
    close() {
      closing ??= Promise.allSettled(running).then(() => node.close())
      return closing
    },
  }
}
