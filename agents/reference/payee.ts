/** What is known of an address that wants to be paid. */
import { isValidAddress } from '../../src/adapters/algorand/address.js'
import { formatUsd } from '../../src/domain/money.js'
import { CAIP2, type PublicNetwork, publicNetworkOf } from '../../src/domain/network.js'
import { cardUrlOf } from '../../src/domain/registered-agent.js'
import { type BazaarResource, listBazaar } from '../../src/index.js'
import type { Registry } from '../../src/ports/agent-registry.js'
import type { ChainReader, Listed } from './chain/chain-reader.js'

export interface PayeeReport {
  readonly address: string
  readonly network: string
  /** Whether the address can be one: its checksum holds. */
  readonly valid: boolean
  /** Whether the ledger knows the account. */
  readonly exists: boolean
  readonly microAlgos: string | null
  readonly canReceiveUsdc: boolean
  readonly usdc: { readonly balance: string; readonly usd: string; readonly frozen: boolean } | null
  readonly received: Received | null
  /** `null` where the index could not be read. */
  readonly listed: boolean | null
  readonly resources: readonly string[]
  /** `null` where no registry is configured, or where it could not be read. */
  readonly registered: boolean | null
  readonly agent: {
    readonly agentId: string
    readonly domain: string
    readonly cardUrl: string | null
  } | null
  /** What to know before paying, a sentence each. */
  readonly notes: readonly string[]
}

/** Transfers of USDC whose note says x402. */
export interface Received {
  readonly payments: number
  /** How many different payers; one payer alone may be the payee itself. */
  readonly payers: number
  readonly usd: string
  readonly amount: string
  readonly firstAt: string | null
  readonly lastAt: string | null
  /** Whether these are all there are. */
  readonly complete: boolean
}

export interface PayeeSources {
  readonly chain: ChainReader
  readonly facilitatorUrl: string
  readonly registry?: Registry
}

const DOMAIN_CHARS_MAX = 253
const RESOURCES_MAX = 20

export async function payeeReport(address: string, sources: PayeeSources): Promise<PayeeReport> {
  const { chain, facilitatorUrl, registry } = sources
  const network = CAIP2[chain.network]
  if (!isValidAddress(address)) return { address, network, ...NOBODY }
  const [account, holding, paid, resources, agent] = await Promise.all([
    chain.account(address),
    chain.usdc(address),
    chain.paymentsTo(address),
    resourcesOf(address, facilitatorUrl, chain.network),
    registeredAs(address, registry),
  ])
  const exists = account.microAlgos > 0n || holding !== undefined
  const usdc = holding && {
    balance: String(holding.amount),
    usd: formatUsd(holding.amount),
    frozen: holding.frozen,
  }
  const report = {
    address,
    network,
    valid: true,
    exists,
    microAlgos: String(account.microAlgos),
    canReceiveUsdc: usdc?.frozen === false,
    usdc: usdc ?? null,
    received: receivedIn(paid),
    listed: resources && resources.length > 0,
    resources: resources ?? [],
    registered: agent && agent !== 'nobody',
    agent: agent === 'nobody' ? null : agent,
  }
  return { ...report, notes: notesOn(report, chain.network) }
}

const NOBODY = {
  valid: false,
  exists: false,
  microAlgos: null,
  canReceiveUsdc: false,
  usdc: null,
  received: null,
  listed: null,
  resources: [],
  registered: null,
  agent: null,
  notes: ['The checksum does not hold: a character is wrong, and nobody has this address. Do not pay it.'],
} as const

function receivedIn({ transactions, complete }: Listed): Received {
  const amount = transactions.reduce((sum, { transfer }) => sum + (transfer?.amount ?? 0n), 0n)
  const times = transactions.map(({ roundTime }) => roundTime).sort((a, b) => a - b)
  return {
    payments: transactions.length,
    payers: new Set(transactions.map(({ sender }) => sender)).size,
    amount: String(amount),
    usd: formatUsd(amount),
    firstAt: momentOf(times[0]),
    lastAt: momentOf(times.at(-1)),
    complete,
  }
}

function momentOf(seconds: number | undefined): string | null {
  return seconds === undefined ? null : new Date(seconds * 1_000).toISOString()
}

/** Some facilitators filter by `payTo`, others pass it over: filtered here in any case. */
async function resourcesOf(
  address: string,
  facilitatorUrl: string,
  network: PublicNetwork,
): Promise<string[] | null> {
  const narrowed: typeof fetch = (url, init) => fetch(`${String(url)}&payTo=${address}`, init)
  const page = await listBazaar({ facilitatorUrl, fetchImpl: narrowed })
  if (!page.ok) return null
  const paysIt = ({ accepts }: BazaarResource) =>
    accepts.some(terms => terms.payTo === address && publicNetworkOf(terms.network) === network)
  return page.resources
    .filter(paysIt)
    .map(({ resourceUrl }) => resourceUrl.slice(0, 500))
    .slice(0, RESOURCES_MAX)
}

/** `null` where nobody could be asked. */
async function registeredAs(address: string, registry: Registry | undefined) {
  try {
    if (!registry) return null
    const agent = await registry.byAddress(address)
    if (!agent) return 'nobody'
    const { agentId, domain } = agent
    return { agentId: String(agentId), domain: domain.slice(0, DOMAIN_CHARS_MAX), cardUrl: cardUrlOf(domain) }
  } catch {
    return null
  }
}

function notesOn(
  { exists, usdc, received, listed, registered }: Omit<PayeeReport, 'notes'>,
  network: PublicNetwork,
): string[] {
  const notes: string[] = []
  if (!exists) notes.push(`The account holds nothing on ${network}: it may never have been used there.`)
  if (!usdc)
    notes.push('It has not opted in to USDC: a payment to it fails. Its owner opts in with one transaction.')
  if (usdc?.frozen) notes.push('Its USDC is frozen: a payment to it fails.')
  if (received?.payments === 0) notes.push('No x402 payment to it was found.')
  if (received?.payments && received.payers === 1)
    notes.push('Everything it got over x402 came from one payer.')
  if (received?.complete === false) notes.push('It got more than was counted here.')
  if (listed === false) notes.push('The facilitator’s index lists nothing that pays it.')
  if (registered === false) notes.push('No agent is registered under it.')
  return notes
}
