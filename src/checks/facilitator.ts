/** Checks that the facilitator verifies and settles payments on this network, and pays the callers' network fees. */
import { isValidAddress } from '../adapters/algorand/address.js'
import type { Algod } from '../adapters/algorand/node-clients.js'
import { x402Facilitator } from '../adapters/facilitator/x402-facilitator.js'
import type { NetworkFacts } from '../domain/network.js'
import { algos } from '../wallet/holdings.js'
import { type Finding, failed, messageOf, ok, skipped } from './finding.js'

const FACILITATOR = 'facilitator'
const FEES = 'fee sponsorship'
const ANSWER_TIMEOUT_MS = 5_000
/** Of the payment and of the sponsor's own transaction. */
const PAYMENT_FEE_MICRO_ALGOS = 2_000n

export async function facilitatorFindings(
  url: string | undefined,
  network: NetworkFacts,
): Promise<Finding[]> {
  if (url === undefined) return failing(`there is no facilitatorUrl for ${network.name}`)
  try {
    return await asked(url, network)
  } catch (error) {
    return failing(messageOf(error))
  }
}

async function asked(url: string, network: NetworkFacts): Promise<Finding[]> {
  const facilitator = x402Facilitator({
    url,
    network,
    supportedTimeoutMs: ANSWER_TIMEOUT_MS,
    firstWaitMs: ANSWER_TIMEOUT_MS,
    // The check needs one answer, and a retry would outlast the command.
    retryMs: 60 * 60_000,
  })
  try {
    const supported = await facilitator.supported()
    if (!supported) return failing(`${url}: ${facilitator.status.lastError ?? 'no answer in time'}`)
    const { feePayer } = supported
    return [
      ok(FACILITATOR, `${url} supports exact payments on ${network.name}`),
      feePayer === undefined
        ? failed(
            FEES,
            'the facilitator names no sponsor',
            'Callers need ALGO for fees: choose another facilitator.',
          )
        : ok(FEES, `network fees are paid by ${feePayer}`),
    ]
  } finally {
    await facilitator.close()
  }
}

/** A facilitator in the agent's process has no URL to ask. Its node is checked elsewhere, and its sponsor here. */
export async function inProcessFindings(sponsor: string, algod: Pick<Algod, 'account'>): Promise<Finding[]> {
  const where =
    "in the process of the agent, where it cannot be asked: its sponsor and the agent's node are checked"
  return [ok(FACILITATOR, where), await sponsorFinding(sponsor, algod)]
}

async function sponsorFinding(sponsor: string, algod: Pick<Algod, 'account'>): Promise<Finding> {
  if (!isValidAddress(sponsor))
    return failed(FEES, `'${sponsor}' is not an address`, 'Copy it again: svc wallet address prints it.')
  try {
    const { microAlgos, minBalanceMicroAlgos } = await algod.account(sponsor)
    const spendable = microAlgos - minBalanceMicroAlgos
    return spendable >= PAYMENT_FEE_MICRO_ALGOS
      ? ok(FEES, `network fees are paid by ${sponsor}, which can spend ${algos(spendable)} ALGO`)
      : failed(FEES, `${sponsor} cannot pay for a payment`, 'Send it ALGO: one pays for about 450 payments.')
  } catch (error) {
    return failed(FEES, messageOf(error), 'See the check of the Algorand node.')
  }
}

function failing(message: string): Finding[] {
  const cure =
    'Check its URL (--facilitator; facilitatorUrl in serve), the network, and that this machine may reach it. ' +
    "For a facilitator in the agent's process give its account: --sponsor."
  return [failed(FACILITATOR, message, cure), skipped(FEES, 'no facilitator to ask')]
}
