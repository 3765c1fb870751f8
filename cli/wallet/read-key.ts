/** The key of the wallet: the 25 words in `SVC_MNEMONIC`, or on standard input. Never an argument, which shell histories keep. */
import { text } from 'node:stream/consumers'
import { type SigningKey, signingKey } from '../../src/adapters/algorand/signing-keys.js'
import { SvcError } from '../../src/domain/errors.js'

/** @throws SvcError `no_signer` or `invalid_key` */
export async function readKey(): Promise<SigningKey> {
  return signingKey(await readWords())
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
