/**
 * A price that can be passed on: whoever knows the oracle's address can check it, without asking the oracle. Signed as
 * wallets sign bytes on Algorand (`MX` before them), so that a signature can never pass for a transaction's.
 */
import algosdk from 'algosdk'

export interface Quote {
  /** Such as `ALGO/USD`. */
  readonly pair: string
  /** A decimal, as text: no number loses digits on its way. */
  readonly price: string
  readonly at: string
  readonly validUntil: string
}

export interface SignedQuote extends Quote {
  readonly signer: string
  /** Base64 of 64 bytes. */
  readonly signature: string
}

export interface QuoteSigner {
  readonly address: string
  sign(quote: Quote): SignedQuote
}

/** The key of an account that holds nothing: whoever gets hold of it can lie about prices, which is enough. */
export function quoteSigner(mnemonic?: string): QuoteSigner {
  const { addr, sk } = mnemonic ? algosdk.mnemonicToSecretKey(mnemonic) : algosdk.generateAccount()
  const address = addr.toString()
  return {
    address,
    sign: quote => ({
      ...quote,
      signer: address,
      signature: Buffer.from(algosdk.signBytes(bytesOf(quote), sk)).toString('base64'),
    }),
  }
}

export type Verdict = 'good' | 'foreign signer' | 'bad signature' | 'expired'

/** The address is the one that you know, never the one that the quote names. */
export function verifyQuote(quote: SignedQuote, address: string, now: Date = new Date()): Verdict {
  if (quote.signer !== address) return 'foreign signer'
  const signature = Buffer.from(quote.signature, 'base64')
  if (signature.length !== 64 || !algosdk.verifyBytes(bytesOf(quote), signature, address))
    return 'bad signature'
  return now <= new Date(quote.validUntil) ? 'good' : 'expired'
}

/** The first word keeps these signatures from being taken for those over something else. */
function bytesOf({ pair, price, at, validUntil }: Quote): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(['price-quote/1', pair, price, at, validUntil]))
}
