/** Checks that the facilitator verifies and settles payments on this network, and pays the callers' network fees. */
import { x402Facilitator } from '../../src/adapters/facilitator/x402-facilitator.js'
import type { NetworkFacts } from '../../src/domain/network.js'
import { type Finding, failed, messageOf, ok, skipped } from './finding.js'

const FACILITATOR = 'facilitator'
const FEES = 'fee sponsorship'
const ANSWER_TIMEOUT_MS = 5_000

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

function failing(message: string): Finding[] {
  const cure =
    'Check its URL (--facilitator; facilitatorUrl in serve), the network, and that this machine may reach it.'
  return [failed(FACILITATOR, message, cure), skipped(FEES, 'no facilitator to ask')]
}
