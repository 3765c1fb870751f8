/** A proof of the payer, as a stranger writes it by the documents: SIGN-IN-WITH-X, by algosdk alone. */
import { randomBytes } from 'node:crypto'
import algosdk from 'algosdk'

const REFERENCE_LENGTH = 32

/** The header's value, for the payment that was sent to this URL. */
export function proofOf(url: string, payment: string, account: algosdk.Account): string {
  const { host, origin } = new URL(url)
  const { txId, genesisHash } = paymentIn(payment)
  const address = String(account.addr)
  const reference = genesisHash.slice(0, REFERENCE_LENGTH)
  const nonce = randomBytes(16).toString('hex')
  const issuedAt = new Date().toISOString()
  const text = [
    `${host} wants you to sign in with your Algorand account:`,
    address,
    '',
    `URI: ${origin}`,
    'Version: 1',
    `Chain ID: ${reference}`,
    `Nonce: ${nonce}`,
    `Issued At: ${issuedAt}`,
    `Request ID: ${txId}`,
  ].join('\n')
  const signature = Buffer.from(algosdk.signBytes(Buffer.from(text), account.sk)).toString('base64')
  const proof = {
    ...{ domain: host, address, uri: origin, version: '1', chainId: `algorand:${reference}` },
    ...{ type: 'ed25519', nonce, issuedAt, requestId: txId, signature },
  }
  return Buffer.from(JSON.stringify(proof)).toString('base64')
}

/** What a payment moves, read from the bytes that were signed. */
export function paymentIn(header: string) {
  const { payload } = JSON.parse(Buffer.from(header, 'base64').toString()) as {
    payload: { paymentGroup: string[]; paymentIndex: number }
  }
  const bytes = Buffer.from(payload.paymentGroup[payload.paymentIndex]!, 'base64')
  const { txn } = algosdk.decodeSignedTransaction(bytes)
  return {
    txId: txn.txID(),
    amount: String(txn.assetTransfer!.amount),
    genesisHash: Buffer.from(txn.genesisHash!).toString('base64'),
  }
}
