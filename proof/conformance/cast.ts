/** The accounts of a run: the same keys on both peers, and others for each run, because a node keeps what was done to them. */
import { createHash } from 'node:crypto'
import { Address, multisigAddress, SignedTransaction, type Transaction } from 'algosdk'
import { type SigningKey, signingKeyFromSeed } from '../../src/adapters/algorand/signing-keys.js'
import { textToSign } from '../../src/adapters/algorand/transaction-hashes.js'
import type { Member } from './peer.js'

interface Start {
  readonly microAlgos: bigint
  readonly usdc?: bigint
  readonly isFrozen?: true
}

const CAST = {
  alice: { microAlgos: 50_000_000n, usdc: 1_000_000_000n },
  bob: { microAlgos: 10_000_000n, usdc: 1_000n },
  carol: { microAlgos: 5_000_000n },
  poor: { microAlgos: 250_000n, usdc: 5n },
  exact: { microAlgos: 200_000n, usdc: 100n },
  cold: { microAlgos: 5_000_000n, usdc: 50n, isFrozen: true },
  leaver: { microAlgos: 2_000_000n, usdc: 70n },
  closer: { microAlgos: 2_000_000n },
  mover: { microAlgos: 5_000_000n, usdc: 50n },
  newcomer: { microAlgos: 1_000_000n },
  asker: { microAlgos: 20_000_000n, usdc: 1_000_000n },
  shared: { microAlgos: 5_000_000n, usdc: 50n },
  nobody: { microAlgos: 0n },
  fresh: { microAlgos: 0n },
} as const satisfies Record<string, Start>

export type Label = keyof typeof CAST

const SIGNERS = ['alice', 'bob', 'carol'] as const
const THRESHOLD = 2

export class Cast {
  readonly #seed: string
  readonly #keys = new Map<Label, SigningKey>()
  readonly members: readonly Member[]

  constructor(seed: string) {
    this.#seed = seed
    this.members = (Object.keys(CAST) as Label[]).map(label => {
      const { microAlgos, usdc, isFrozen }: Start = CAST[label]
      const sign = (txn: Transaction) => this.signed(txn, label)
      return {
        address: this.address(label),
        microAlgos,
        usdc: usdc ?? null,
        isFrozen: isFrozen ?? false,
        sign,
      }
    })
  }

  key(label: Label): SigningKey {
    const known = this.#keys.get(label)
    if (known) return known
    const seed = createHash('sha256').update(`${this.#seed}\n${label}`).digest()
    const key = signingKeyFromSeed(seed)
    this.#keys.set(label, key)
    return key
  }

  address(label: Label): string {
    if (label !== 'shared') return this.key(label).address
    const addrs = SIGNERS.map(each => this.key(each).address)
    return multisigAddress({ version: 1, threshold: THRESHOLD, addrs }).toString()
  }

  /** Signed by the key of `label`, with its address as `sgnr` where it is asked for. */
  signed(txn: Transaction, label: Label, { names = false } = {}): SignedTransaction {
    if (label === 'shared') return this.signedByMany(txn, ['alice', 'bob'])
    const sig = this.key(label).sign(textToSign(txn.toByte()))
    return new SignedTransaction({
      txn,
      sig,
      ...(names && { sgnr: Address.fromString(this.address(label)) }),
    })
  }

  signedByMany(txn: Transaction, labels: readonly Label[], changes: object = {}): SignedTransaction {
    const subsig = SIGNERS.map(each => ({
      pk: Buffer.from(this.key(each).publicKey),
      ...(labels.includes(each) && { s: this.key(each).sign(textToSign(txn.toByte())) }),
    }))
    return new SignedTransaction({ txn, msig: { v: 1, thr: THRESHOLD, subsig, ...changes } })
  }
}
