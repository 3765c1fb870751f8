/** Whether an agent can be paid from here: its address, its facilitator and its node. No check waits for another. */
import { isValidAddress } from '../adapters/algorand/address.js'
import { type Algod, algodOver } from '../adapters/algorand/algod-and-indexer.js'
import { type NodeClient, type NodeOptions, nodeClient } from '../adapters/algorand/ask-node.js'
import { x402Facilitator } from '../adapters/facilitator/x402-facilitator.js'
import { formatUsd } from '../domain/money.js'
import { isPublicNetwork, type NetworkFacts, otherThan, USDC_DECIMALS } from '../domain/network.js'
import { isAddress } from '../domain/untrusted-text.js'
import { isRecord } from '../domain/x402.js'
import { PAYMENT_FEE_MICRO_ALGOS } from '../facilitator/fee-budget.js'
import { algos } from '../wallet/holdings-and-opt-in.js'
import { type Finding, failed, messageOf, ok, quoted, skipped } from './finding.js'

export interface Seller {
  readonly network: NetworkFacts
  readonly payTo: string | undefined
  /** Who verifies and settles; `undefined` where nobody is named. */
  readonly facilitatorUrl: string | undefined
  /** The account that pays the fees, where the facilitator is in the agent's process. */
  readonly sponsor: string | undefined
  readonly node: Pick<NodeOptions, 'url' | 'token'>
  /** Whether the node is a sandbox, whose USDC is play money. */
  readonly isSandbox: boolean
}

const OPT_IN = 'USDC opt-in'
const NODE = 'Algorand node'
const ASSET = 'asset'
const FACILITATOR = 'facilitator'
const FEES = 'fee sponsorship'
const ANSWER_TIMEOUT_MS = 5_000

export async function sellingChecks(seller: Seller): Promise<Finding[]> {
  const { network, payTo, sponsor, facilitatorUrl, isSandbox } = seller
  const node = nodeClient({ ...seller.node, nodeTimeoutMs: ANSWER_TIMEOUT_MS })
  const algod = algodOver(node)
  try {
    const findings = await Promise.all([
      ...payee(payTo, network, algod),
      sponsor === undefined
        ? facilitatorFindings(facilitatorUrl, network)
        : inProcessFindings(sponsor, algod),
      algorandNode(seller.node.url, network, algod),
      usdcAsset(network, node, isSandbox).catch(unanswered(ASSET)),
    ])
    return findings.flat()
  } finally {
    await node.close()
  }
}

function payee(address: string | undefined, network: NetworkFacts, algod: Algod) {
  const payTo = address
    ? payToCheck('payTo', address)
    : failed('payTo', 'not set', 'Put the address to be paid at into SVC_PAY_TO, or give --pay-to.')
  const optIn = isValidAddress(address)
    ? optInCheck(OPT_IN, address, network, algod).catch(unanswered(OPT_IN))
    : skipped(OPT_IN, 'there is no payTo to look up')
  return [payTo, optIn] as const
}

export async function algorandNode(
  url: string,
  network: NetworkFacts,
  algod: Pick<Algod, 'suggestedParams'>,
): Promise<Finding> {
  try {
    const params = await algod.suggestedParams()
    const other = otherThan(network, params)
    if (other === undefined) return ok(NODE, `${url} is on ${network.name}, at round ${params.lastRound}`)
    return failed(
      NODE,
      `${url} is not on ${network.name}: ${other}`,
      'Give a node of that network (--algod), the other --network, or the definition that the node answers to.',
    )
  } catch (error) {
    return failed(
      NODE,
      `${url}: ${messageOf(error)}`,
      'Check its URL (--algod) and that this machine may reach it.',
    )
  }
}

/** Of a check whose node did not answer. */
const unanswered = (check: string) => (error: unknown) =>
  failed(check, messageOf(error), 'See the check of the Algorand node.')

async function usdcAsset(network: NetworkFacts, node: Pick<NodeClient, 'find'>, isSandbox: boolean) {
  const { usdc: id, name } = network
  const isPublic = isPublicNetwork(network.key)
  const asset = await node.find(`/v2/assets/${id}`)
  const { 'unit-name': unit, decimals } = isRecord(asset?.params) ? asset.params : {}
  // On a network of one's own the asset's name does not matter.
  if (decimals === USDC_DECIMALS && (unit === 'USDC' || !isPublic)) {
    const what = isSandbox ? `play money with the id of USDC on ${name}` : `is ${String(unit)}`
    return ok(ASSET, `${id}, ${what}, with ${decimals} decimals`)
  }
  const found = asset ? `is '${String(unit)}', with ${String(decimals)} decimals` : 'does not exist there'
  const cure = isPublic
    ? `USDC has this id on ${name}: see the check of the node's network.`
    : `usdc in the definition of ${name} is an asset of ${USDC_DECIMALS} decimals there.`
  return failed(ASSET, `${id} ${found}`, cure)
}

/** Whether the facilitator settles payments on this network, and pays the callers' network fees. */
async function facilitatorFindings(url: string | undefined, network: NetworkFacts): Promise<Finding[]> {
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
async function inProcessFindings(sponsor: string, algod: Pick<Algod, 'account'>): Promise<Finding[]> {
  const where =
    "in the process of the agent, where it cannot be asked: its sponsor and the agent's node are checked"
  return [ok(FACILITATOR, where), await sponsorFinding(sponsor, algod).catch(unanswered(FEES))]
}

async function sponsorFinding(sponsor: string, algod: Pick<Algod, 'account'>): Promise<Finding> {
  if (!isValidAddress(sponsor))
    return failed(FEES, `'${sponsor}' is not an address`, 'Copy it again: svc wallet address prints it.')
  const { microAlgos, minBalanceMicroAlgos } = await algod.account(sponsor)
  const spendable = microAlgos - minBalanceMicroAlgos
  return spendable >= PAYMENT_FEE_MICRO_ALGOS
    ? ok(FEES, `network fees are paid by ${sponsor}, which can spend ${algos(spendable)} ALGO`)
    : failed(FEES, `${sponsor} cannot pay for a payment`, 'Send it ALGO: one pays for about 450 payments.')
}

function failing(message: string): Finding[] {
  const cure =
    'Check its URL (--facilitator; facilitatorUrl in serve), the network, and that this machine may reach it. ' +
    "For a facilitator in the agent's process give its account: --sponsor."
  return [failed(FACILITATOR, message, cure), skipped(FEES, 'no facilitator to ask')]
}

export function payToCheck(check: string, address: string): Finding {
  if (isValidAddress(address)) return ok(check, address)
  return isAddress(address)
    ? failed(check, `${address} has a wrong checksum`, 'A character is wrong: copy it again from the wallet.')
    : failed(
        check,
        `${quoted(address)} is not an address`,
        'An Algorand address has 58 characters, A-Z and 2-7.',
      )
}

/**
 * The network refuses a payment to an account that has not opted in, and it does so after the handler has worked.
 *
 * @throws SvcError `node_unavailable`
 */
export async function optInCheck(
  check: string,
  address: string,
  { usdc, name }: Pick<NetworkFacts, 'usdc' | 'name'>,
  algod: Pick<Algod, 'account' | 'assetHolding'>,
): Promise<Finding> {
  const holding = await algod.assetHolding(address, usdc)
  if (holding?.frozen)
    return failed(check, "the account's USDC is frozen", 'Its issuer has frozen it: use another address.')
  if (holding) return ok(check, `opted in, holding ${formatUsd(holding.amount)} of USDC`)
  const { microAlgos } = await algod.account(address)
  const state = microAlgos === 0n ? 'does not exist yet' : 'is not opted in to USDC'
  return failed(
    check,
    `the account ${state} on ${name}`,
    `Have 0.201 ALGO in it, then add asset ${usdc} in its wallet (a transfer of 0 USDC to itself).`,
  )
}
