/** What the chain says an account has received. It rejects where the chain does not answer: silence is no empty list. */
export interface IncomingTransfers {
  /** Every transfer of the asset to the account that landed in the period, a page at a time, in any order. */
  to(payTo: string, asset: string, period: Period): AsyncIterable<readonly Transfer[]>
  /** One transaction, whatever it moved to whomever; `undefined` where none of this id has landed. */
  find(txId: string): Promise<Transfer | undefined>
  close(): Promise<void>
}

/** From the first moment, up to the second. */
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
}
