/** A running sandbox, and its options. */
import type { NetworkDefinition } from '../domain/network.js'
import type { SandboxRegistry } from './agent-registry.js'
import type { Faults } from './faults.js'
import type { Credit, LandedTransaction, Landing } from './ledger.js'

/** Options of `startSandbox`. */
export interface SandboxOptions {
  /** 0 lets the system choose. The interface is always 127.0.0.1. @default 0 */
  readonly port?: number
  /** The same seed gives the same accounts. @default 'svc-sandbox' */
  readonly seed?: string
  /** How long a round takes, in milliseconds; a payment lives for ten or more of them. @default 2800 */
  readonly roundMs?: number
  /**
   * When a payment lands. `with-the-round` leaves it pending until the next round, as a real node does, and the facilitator
   * answers a settlement then; `at-once` counts it at once.
   *
   * @default 'at-once'
   */
  readonly landing?: Landing
  /** The network that it emulates: its ids, its genesis hash, its USDC. Never mainnet. @default 'testnet' */
  readonly network?: 'testnet' | NetworkDefinition
  /** The facilitator's faults from the start, such as `settle=hang` or `verify=500:2,settle=late`. @default none */
  readonly fault?: string
}

/** An account, and the key to it. */
export interface SandboxAccount {
  /** Its Algorand address. */
  readonly address: string
  /** The 25 words. */
  readonly mnemonic: string
}

/** A transaction that has landed. */
export interface SandboxTransaction extends Omit<LandedTransaction, 'signed' | 'result'> {}

/** A running sandbox: its addresses, its accounts and its faults. */
export interface Sandbox {
  /** The network that it emulates: `testnet`, or the definition with this sandbox's URLs. */
  readonly network: 'testnet' | NetworkDefinition
  /** Its origin; what the environment variable `SVC_SANDBOX` is set to. */
  readonly url: string
  /** The URL of its node. */
  readonly algodUrl: string
  /** The URL of its facilitator. */
  readonly facilitatorUrl: string
  /** A payer with 10 ALGO and 100 USDC. */
  readonly wallet: SandboxAccount
  /** Opted in to USDC, of which it has none yet. */
  readonly seller: SandboxAccount
  /** The address that sponsors the network's fees. */
  readonly feePayer: string
  /** An account by any name. The first call funds it like the wallet. */
  accounts(label: string): SandboxAccount
  /** The balance of an account, in millionths; `usdc` is null where it has not opted in. */
  balance(address: string): { microAlgos: bigint; usdc: bigint | null }
  /** Mints money for an account. Any USDC opts the account in. */
  fund(address: string, credit: Credit): void
  /** Freezes an account's USDC, or thaws it. */
  freeze(address: string, frozen: boolean): void
  /** The transactions that have landed, oldest first. */
  transactions(): readonly SandboxTransaction[]
  /** The number of its USDC. */
  readonly assetId: bigint
  /** The last round. */
  round(): bigint
  /** Produces rounds at once. */
  advanceRounds(rounds: number): void
  /** The facilitator's faults. */
  readonly faults: Faults
  /** The on-chain registry of agents. It begins empty. */
  readonly registry: SandboxRegistry
  /** Stops the sandbox and forgets everything in it. */
  close(): Promise<void>
}
