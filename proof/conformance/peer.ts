/** What is asked: a sandbox or a node. Each gives the same accounts the same money, and is told when payments must land. */
import type { SignedTransaction, Transaction } from 'algosdk'

export interface Asked {
  readonly method: string
  readonly path: string
  readonly body?: Uint8Array | string
  readonly headers?: Readonly<Record<string, string>>
  /** Leaves out the token that the peer wants. */
  readonly withoutToken?: true
}

/** A reply, before anything in it is masked. */
export interface Told {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/** An account of the cast, and what it has at the start. */
export interface Member {
  readonly address: string
  readonly microAlgos: bigint
  /** `null`: not opted in. */
  readonly usdc: bigint | null
  readonly isFrozen: boolean
  /** Signs the account's transactions, as the whole signed transaction. */
  readonly sign: (txn: Transaction) => SignedTransaction
}

export interface Peer {
  readonly name: string
  /** A round passes with each accepted group, at once, and with nothing else. */
  readonly isInDevelopment: boolean
  /** The asset that the questions move. */
  readonly assetId: bigint
  readonly genesisId: string
  readonly genesisHash: Uint8Array
  ask(asked: Asked): Promise<Told>
  fund(members: readonly Member[]): Promise<void>
  /** Waits until what was submitted has landed. */
  land(): Promise<void>
  round(): Promise<bigint>
  close(): Promise<void>
}
