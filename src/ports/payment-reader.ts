import type { PaymentPayload } from '../domain/x402.js'

/**
 * Reads the signed transaction inside a payment payload, so that payments can be told apart.
 *
 * `txId` is computed over the canonical encoding of the decoded transaction, so the same payment in another encoding
 * (base64 padding, key order, white space, unsorted msgpack) has the same id. `undefined` means that the payload has
 * no readable signed payment transaction: nothing in it may be relied on. Never throws, whatever the payload.
 */
export interface PaymentReader {
  read(payload: PaymentPayload): ReadPayment | undefined
}

/**
 * Why a group is not taken as a payment.
 *
 * - `notWhole`: its transactions are not those that the payment's group id was made of, so it can never land.
 * - `noCommonRound`: no round is valid for all its transactions, so it can never land.
 * - `notPlain`: the payment itself also closes out its holding, rekeys its account, or takes from another account.
 * - `anotherTransfer`: a second transaction moves the asset to or from the receiver. Two payments that land together
 *   would charge for a call that failed as soon as the other call is paid for.
 */
export type GroupProblem = 'notWhole' | 'noCommonRound' | 'notPlain' | 'anotherTransfer'

export interface ReadPayment {
  readonly txId: string
  readonly payer: string
  readonly receiver: string
  readonly amount: bigint
  /** Decimal asset id. */
  readonly asset: string
  /**
   * The rounds in which the payment can land. It lands with its whole group or not at all, so these are the rounds that
   * all transactions of the group share.
   */
  readonly firstValid: bigint
  readonly lastValid: bigint
  /** What speaks against the payment's group, although the payment itself can be read. */
  readonly groupProblem: GroupProblem | undefined
  /**
   * Who still has to sign, so that the group can land: the sender of a transaction that came without a signature, which pays
   * the fee. `undefined` where the group is complete.
   */
  readonly sponsor: string | undefined
  /** Base64 of the genesis hash that the transaction names. */
  readonly genesisHash: string | undefined
  /**
   * SHA-256, as base64url, of the signed transaction with its signatures, in the canonical encoding. Another encoding of the same
   * has the same digest, another signature another. The transaction's id says nothing about the signature.
   */
  readonly wrapperDigest: string
  /**
   * Whether a transaction of the payment's group has this id. The other transactions' ids are computed on first use.
   * Never throws.
   */
  isOfGroup(txId: string): boolean
  /**
   * Whether the payer itself signed these bytes: by its own key, or, where it is a multisig account of at most 16 different
   * keys, by as many of them as it asks for. A program, a post-quantum signature, and a key that signs for an account of another
   * name prove nothing here. Computed on first use, about 110 µs for each signature.
   */
  proven(): boolean
  /**
   * Whether the key that made the payment's plain signature also made this ed25519 signature, in base64, over these bytes. False for
   * other kinds of signature, and where another key signs for the payer's account: whoever presents a payment that landed can put
   * a key of its own there. Never throws.
   */
  isSignedByPayer(bytes: Uint8Array, signature: string): boolean
}
