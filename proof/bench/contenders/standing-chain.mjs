/** What a node answers whose round stands still: payments stay valid for as long as a row takes. */
const ROUND = 50_000_000

export const STATUS = { 'last-round': ROUND }
export const PARAMS = {
  ...STATUS,
  'min-fee': 1_000,
  fee: 0,
  'genesis-hash': 'SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI=',
  'genesis-id': 'testnet-v1.0',
  'consensus-version': 'future',
}
