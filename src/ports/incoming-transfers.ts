/**
 * The transfers that an account has received, as the chain reports them. If the chain does not answer, it rejects: no
 * answer is not an empty list.
 */
export interface IncomingTransfers {
  /** Every transfer of the asset to the account that landed in the period, in pages, in any order. */
  to(payTo: string, asset: string, period: Period): AsyncIterable<readonly Transfer[]>
  /** One transaction of any kind; `undefined` where no transaction of this id has landed. */
  find(txId: string): Promise<Transfer | undefined>
  close(): Promise<void>
}

/** A period that includes its first moment and excludes its second. */
export interface Period {
  readonly fromMs: number
  readonly toMs: number
}

export interface Transfer {
  readonly txId: string
  readonly payer: string
  readonly receiver: string
  /** Decimal id; empty where the transaction moved no asset. */
  readonly asset: string
  /** Base units. */
  readonly amount: bigint
  readonly landedMs: number
  /** As text; absent where it has none. Anybody can write anything into the note of their own transfer. */
  readonly note?: string
}
