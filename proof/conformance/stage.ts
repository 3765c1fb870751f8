/** What a question has at hand: the cast, transactions of its own, and one peer to ask. */
import {
  Address,
  encodeMsgpack,
  modelsv2,
  SignedTransaction,
  Transaction,
  type TransactionParams,
  TransactionType,
} from 'algosdk'
import { groupIdOf, hashOf, textToSign, txIdOf } from '../../src/adapters/algorand/transaction-hashes.js'
import type { Cast, Label } from './cast.js'
import { type Masked, maskedReply } from './mask.js'
import type { Asked, Peer } from './peer.js'

export interface Move {
  readonly from?: Label
  readonly to?: Label
  readonly amount?: bigint
  readonly fee?: bigint
  /** `null` moves ALGO. @default the peer's asset */
  readonly asset?: bigint | null
  /** Rounds before the last one at which it begins to be valid; negative for rounds ahead. @default 0 */
  readonly firstAgo?: bigint
  /** Rounds after the last one until which it is valid. @default 500 */
  readonly lastIn?: bigint
  readonly closeTo?: Label
  readonly takenFrom?: Label
  readonly rekeyTo?: Label
  readonly lease?: Uint8Array
  readonly note?: Uint8Array
  /** Any fields of the transaction. */
  readonly more?: Partial<Transaction>
}

const ROUNDS_AHEAD = 500n
const FEE = 1_000n
const DAY_ONE = 1n

export class Stage {
  readonly peer: Peer
  readonly cast: Cast
  /** In the order in which they were made: the masks name them. */
  readonly txIds: string[] = []
  #notes = 0

  constructor(peer: Peer, cast: Cast) {
    this.peer = peer
    this.cast = cast
  }

  async transaction(move: Move): Promise<Transaction> {
    const round = await this.peer.round()
    const { from = 'alice', to = 'bob', amount = 10n, asset = this.peer.assetId, fee = FEE } = move
    const firstValid = round - (move.firstAgo ?? 0n)
    const receiver = this.cast.address(to)
    const closeRemainderTo = this.#addressOf(move.closeTo)
    const params: TransactionParams = {
      type: asset === null ? TransactionType.pay : TransactionType.axfer,
      sender: this.cast.address(from),
      note: move.note ?? Buffer.from(`question ${this.#notes++}`),
      lease: move.lease,
      rekeyTo: this.#addressOf(move.rekeyTo),
      suggestedParams: {
        ...{ flatFee: true, minFee: FEE, fee },
        firstValid: firstValid < DAY_ONE ? DAY_ONE : firstValid,
        lastValid: round + (move.lastIn ?? ROUNDS_AHEAD),
        genesisID: this.peer.genesisId,
        genesisHash: this.peer.genesisHash,
      },
      ...(asset === null
        ? { paymentParams: { receiver, amount, closeRemainderTo } }
        : {
            assetTransferParams: {
              ...{ receiver, amount, assetIndex: asset, closeRemainderTo },
              assetSender: this.#addressOf(move.takenFrom),
            },
          }),
    }
    const txn = Object.assign(new Transaction(params), move.more)
    this.txIds.push(txIdOf(txn))
    return txn
  }

  async signed(move: Move = {}, by: Label = move.from ?? 'alice'): Promise<SignedTransaction> {
    return this.cast.signed(await this.transaction(move), by)
  }

  /** A group with its id, signed by its senders. */
  async group(...moves: readonly Move[]): Promise<SignedTransaction[]> {
    const txns: Transaction[] = []
    for (const move of moves) txns.push(await this.transaction(move))
    bind(txns)
    this.txIds.push(...txns.map(txIdOf))
    return txns.map((txn, at) => this.cast.signed(txn, moves[at]!.from ?? 'alice'))
  }

  async ask(method: string, path: string, more: Partial<Asked> = {}): Promise<Masked> {
    return maskedReply(await this.peer.ask({ method, path, ...more }), this)
  }

  get = (path: string, more: Partial<Asked> = {}): Promise<Masked> => this.ask('GET', path, more)

  simulate(
    group: readonly SignedTransaction[],
    options: object = {},
    query = '?format=json',
  ): Promise<Masked> {
    return this.ask('POST', `/v2/transactions/simulate${query}`, { body: simulation([group], options) })
  }

  submit(group: readonly SignedTransaction[] | Uint8Array): Promise<Masked> {
    const body = group instanceof Uint8Array ? group : Buffer.concat(group.map(each => encodeMsgpack(each)))
    return this.ask('POST', '/v2/transactions', { body })
  }

  pending(txn: Transaction, query = ''): Promise<Masked> {
    return this.get(`/v2/transactions/pending/${txIdOf(txn)}${query}`)
  }

  /** Submits, and waits until it has landed. */
  async land(group: readonly SignedTransaction[] | Uint8Array): Promise<Masked> {
    const told = await this.submit(group)
    await this.peer.land()
    return told
  }

  #addressOf(label: Label | undefined): Address | undefined {
    return label && Address.fromString(this.cast.address(label))
  }
}

export function bind(txns: readonly Transaction[]): void {
  if (txns.length < 2) return
  const id = groupIdOf(txns.map(txn => hashOf(textToSign(txn.toByte()))))
  for (const txn of txns) txn.group = id
}

export function simulation(
  groups: readonly (readonly SignedTransaction[])[],
  options: object = {},
): Uint8Array {
  const txnGroups = groups.map(txns => new modelsv2.SimulateRequestTransactionGroup({ txns: [...txns] }))
  return encodeMsgpack(new modelsv2.SimulateRequest({ txnGroups, ...options }))
}

export function unsigned(txn: Transaction): SignedTransaction {
  return new SignedTransaction({ txn })
}
