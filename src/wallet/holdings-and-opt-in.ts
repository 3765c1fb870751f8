/** What an account holds, and what it lacks to pay or to be paid in USDC. */
import { type Algod, algodClient } from '../adapters/algorand/algod-and-indexer.js'
import type { NodeOptions } from '../adapters/algorand/ask-node.js'
import { SvcError } from '../domain/errors.js'
import { type NetworkFacts, otherThan } from '../domain/network.js'
import { FEE_MICRO_ALGOS } from './send.js'

/** The ledger asks for this of an account, and for as much again for each asset. */
const MIN_BALANCE_MICRO_ALGOS = 100_000n

export interface Holdings {
  readonly address: string
  readonly network: NetworkFacts
  readonly microAlgos: bigint
  readonly minBalanceMicroAlgos: bigint
  /** Base units; `undefined` without an opt-in. */
  readonly usdc: bigint | undefined
  readonly isFrozen: boolean
  /** What the account lacks for an opt-in; 0 where it is opted in, or has enough. */
  readonly shortOfMicroAlgos: bigint
  /** What to do before the account can hold and pay USDC. */
  readonly missing: readonly string[]
}

export async function holdingsOf(
  network: NetworkFacts,
  address: string,
  node: NodeOptions,
): Promise<Holdings> {
  const algod = algodClient(node)
  return read(algod, network, address).finally(algod.close)
}

async function read(algod: Algod, network: NetworkFacts, address: string): Promise<Holdings> {
  const [params, account, holding] = await Promise.all([
    algod.suggestedParams(),
    algod.account(address),
    algod.assetHolding(address, network.usdc),
  ])
  const other = otherThan(network, params)
  if (other !== undefined)
    throw new SvcError(`The node is not on ${network.name}: ${other}`, 'network_mismatch')
  const held = { address, network, ...account, usdc: holding?.amount, isFrozen: holding?.frozen ?? false }
  const needed = account.minBalanceMicroAlgos + MIN_BALANCE_MICRO_ALGOS + FEE_MICRO_ALGOS
  const short = needed - account.microAlgos
  const shortOfMicroAlgos = held.usdc === undefined && short > 0n ? short : 0n
  return { ...held, shortOfMicroAlgos, missing: missingOf({ ...held, shortOfMicroAlgos }) }
}

function missingOf({ shortOfMicroAlgos, usdc, isFrozen }: Omit<Holdings, 'missing'>): string[] {
  if (isFrozen) return ['The issuer has frozen its USDC: it cannot pay and cannot be paid']
  if (usdc !== undefined) return usdc === 0n ? ['It holds no USDC: it can be paid, and cannot pay'] : []
  const optIn = 'It is not opted in to USDC: svc wallet optin'
  return shortOfMicroAlgos > 0n ? [fundingFirst(shortOfMicroAlgos), optIn] : [optIn]
}

export function fundingFirst(shortOfMicroAlgos: bigint): string {
  return `It needs ${algos(shortOfMicroAlgos)} ALGO more before it can opt in to USDC`
}

export function algos(microAlgos: bigint): string {
  const fraction = String(microAlgos % 1_000_000n)
    .padStart(6, '0')
    .replace(/0+$/, '')
  return `${microAlgos / 1_000_000n}${fraction && `.${fraction}`}`
}
