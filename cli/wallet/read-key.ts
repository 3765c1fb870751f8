/** The key of the wallet: the 25 words in `SVC_MNEMONIC`, or on standard input. Never an argument, which shell histories keep. */
import { text } from 'node:stream/consumers'
import { mnemonicToSecretKey } from 'algosdk'
import { SvcError } from '../../src/domain/errors.js'

export interface WalletKey {
  readonly address: string
  readonly secretKey: Uint8Array
}

/** @throws SvcError `no_signer` or `invalid_key` */
export async function readKey(): Promise<WalletKey> {
  const words = await readWords()
  try {
    const { addr, sk } = mnemonicToSecretKey(words.trim().split(/\s+/).join(' '))
    return { address: addr.toString(), secretKey: sk }
  } catch {
    // The error of the library may repeat words.
    throw new SvcError('The mnemonic is not 25 words of an Algorand wallet', 'invalid_key')
  }
}

async function readWords(): Promise<string> {
  const words = process.env.SVC_MNEMONIC || undefined
  // No child process and no crash report contains it.
  delete process.env.SVC_MNEMONIC
  if (words !== undefined) return words
  const piped = process.stdin.isTTY ? '' : await text(process.stdin)
  if (piped.trim() !== '') return piped
  throw new SvcError(
    'SVC_MNEMONIC is not set, and nothing came on standard input: give the 25 words of the wallet',
    'no_signer',
  )
}
