/** A wallet of one key: made, looked into, and opted in to USDC. `svc wallet` is its command line. */
import { mnemonicOf, signingKeyFromSeed } from '../adapters/algorand/signing-keys.js'
import { systemRandom } from '../ports/random.js'

export { isValidAddress } from '../adapters/algorand/address.js'
export { type SigningKey, signingKey } from '../adapters/algorand/signing-keys.js'
export { algos, fundingFirst, type Holdings, holdingsOf } from './holdings-and-opt-in.js'
export { optIn } from './send.js'

/** A new key that only this process knows, and its 25 words. */
export function newWallet(): { readonly address: string; readonly mnemonic: string } {
  const seed = systemRandom.bytes(32)
  return { address: signingKeyFromSeed(seed).address, mnemonic: mnemonicOf(seed) }
}
