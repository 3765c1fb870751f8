/** The ledger that the test vectors were made on: their accounts, balances and round. */

import { signingKeyFromSeed } from '../../src/adapters/algorand/signing-keys.js'
import { PUBLIC_NETWORKS } from '../../src/domain/network.js'
import { createLedger, type Ledger } from '../../src/sandbox/ledger.js'
import { createRounds } from '../../src/sandbox/rounds.js'
import keys from '../vectors/keys.json' with { type: 'json' }

export type VectorAccount = keyof typeof keys.accounts

export function vectorKey(name: VectorAccount) {
  return signingKeyFromSeed(Buffer.from(keys.accounts[name].seedHex, 'hex'))
}

export function vectorLedger(
  network: 'mainnet' | 'testnet' = 'testnet',
  first = BigInt(keys.ledgerRound),
): Ledger {
  const rounds = createRounds({ roundMs: 1_000, nowMs: () => 0, first })
  const ledger = createLedger({
    network: PUBLIC_NETWORKS[network],
    rounds,
    feeSink: keys.accounts.feesink.address,
  })
  for (const { address, microAlgos, usdc } of Object.values(keys.accounts)) {
    ledger.credit(address, { microAlgos: BigInt(microAlgos), usdc: BigInt(usdc ?? 0), optIn: usdc !== null })
  }
  return ledger
}
