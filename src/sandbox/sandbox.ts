/** One loopback origin: a ledger, a node, a facilitator and a faucet. The keys derive from the seed; the money is play money. */
import { createHash } from 'node:crypto'
import { isValidAddress } from '../adapters/algorand/address.js'
import { mnemonicOf, type SigningKey, signingKeyFromSeed } from '../adapters/algorand/signing-keys.js'
import { SvcError } from '../domain/errors.js'
import { ALGORAND_MAINNET, type NetworkDefinition } from '../domain/network.js'
import { networkFacts } from '../domain/network-definition.js'
import { refuseUnknown } from '../domain/option-checks.js'
import { createBazaarIndex } from '../facilitator/bazaar-index.js'
import { systemClock } from '../ports/clock.js'
import { createRegistry } from './agent-registry.js'
import { algodRoutes } from './algod/routes.js'
import { controlRoutes } from './control-routes.js'
import { facilitatorRoutes } from './facilitator-routes.js'
import { createFaults, parseFaults } from './faults.js'
import { indexerRoutes } from './indexer-routes.js'
import { type Credit, createLedger } from './ledger.js'
import { createRounds } from './rounds.js'
import type { Sandbox, SandboxAccount, SandboxOptions } from './sandbox-options.js'
import { serveRoutes } from './serve-http.js'

const OPTIONS = ['port', 'seed', 'roundMs', 'landing', 'network', 'fault'] satisfies (keyof SandboxOptions)[]
const ROUND_MS = 2_800
const WALLET: Credit = { microAlgos: 10_000_000n, usdc: 100_000_000n }
const SPONSOR: Credit = { microAlgos: 1_000_000_000_000n }

function refuse(why: string): never {
  throw new SvcError(why, 'invalid_sandbox')
}

/**
 * Starts a sandbox on this machine: a ledger with real Algorand transactions and signatures, a node's REST interface and a
 * facilitator. Its keys derive from the seed, and its money is play money.
 *
 * @example
 * const sandbox = await startSandbox()
 * const { algodUrl, wallet } = sandbox
 * const caps = { maxPrice: '$0.01', maxPerDay: '$1' }
 * const client = new SvcClient({ mnemonic: wallet.mnemonic, network: 'testnet', algodUrl, ...caps })
 *
 * @throws SvcError `invalid_sandbox`, `invalid_fault`
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  refuseUnknown(options, OPTIONS, '', refuse)
  const { port = 0, seed = 'svc-sandbox', roundMs = ROUND_MS, fault, landing } = options
  if (!(roundMs >= 1)) refuse('roundMs is at least 1')
  const given = options.network ?? 'testnet'
  const network = networkFacts(given, refuse)
  if (network.key === 'mainnet') refuse('A sandbox is never mainnet')
  const keys = accountsOf(seed)
  const rounds = createRounds({ roundMs })
  const [feeSink, issuer] = [keys('fee sink').address, keys('issuer').address]
  const ledger = createLedger({ network, rounds, feeSink, issuer, landing })
  const faults = createFaults()
  for (const { stage, behaviour, times } of fault ? parseFaults(fault) : [])
    faults.set(stage, behaviour, { times: times ?? undefined })

  const sponsor = keys('sponsor')
  ledger.credit(sponsor.address, SPONSOR)
  ledger.credit(feeSink, { microAlgos: 1_000_000n })
  const funded = new Map<string, SandboxAccount>()
  const open = (label: string, credit: Credit): SandboxAccount => {
    const known = funded.get(label)
    if (known) return known
    const { address, mnemonic } = keys(`account ${label}`)
    const account = Object.freeze({ address, mnemonic })
    funded.set(label, account)
    ledger.credit(address, credit)
    return account
  }

  const money = {
    feePayer: sponsor.address,
    faults,
    round: rounds.current,
    advanceRounds: rounds.advance,
    balance(address: string) {
      const { microAlgos, holdings } = ledger.account(address)
      return { microAlgos, usdc: holdings.get(ledger.assetId)?.amount ?? null }
    },
    fund(address: string, credit: Credit) {
      refuseUnknown(credit, ['microAlgos', 'usdc', 'optIn'])
      if (!isValidAddress(address))
        throw new SvcError('Only a valid address can be funded', 'invalid_address')
      ledger.credit(address, credit)
    },
  }
  const wallet = open('wallet', WALLET)
  const seller = open('seller', { microAlgos: 1_000_000n, optIn: true })
  const { routes: registryRoutes, ...registry } = createRegistry(systemClock.now)
  const strangers = { address: keys('stranger').address, network: ALGORAND_MAINNET }
  const server = await serveRoutes(
    [
      ...facilitatorRoutes({
        ledger,
        sponsor: sponsor.key,
        bazaar: createBazaarIndex(systemClock.now),
        faults,
        strangers,
        clock: systemClock,
      }),
      ...algodRoutes(ledger),
      ...indexerRoutes(ledger),
      ...registryRoutes,
      ...controlRoutes({ ...money, network: network.caip2, seller: seller.address }),
    ],
    port,
  )

  return {
    ...money,
    registry,
    network: given === 'testnet' ? given : atThis(server.url, given),
    url: server.url,
    algodUrl: server.url,
    facilitatorUrl: server.url,
    wallet,
    seller,
    assetId: ledger.assetId,
    accounts: label => open(label, WALLET),
    freeze: ledger.freeze,
    transactions: () => ledger.transactions().map(({ signed: _, result: __, ...transaction }) => transaction),
    async close() {
      rounds.close()
      await server.close()
    },
  }
}

/** The network at the sandbox's own addresses. The definition's addresses and tokens may be those of a real network. */
function atThis(url: string, { name, genesisId, genesisHash, usdc }: NetworkDefinition): NetworkDefinition {
  return { name, genesisId, genesisHash, usdc, algodUrl: url, indexerUrl: url, facilitatorUrl: url }
}

function accountsOf(seed: string): (label: string) => SandboxAccount & { readonly key: SigningKey } {
  return label => {
    const secret = createHash('sha256').update(`${seed}\n${label}`).digest()
    const key = signingKeyFromSeed(secret)
    return { key, address: key.address, mnemonic: mnemonicOf(secret) }
  }
}
