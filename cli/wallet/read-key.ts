/** The key of a wallet, for `svc wallet`: its 25 words may also come on standard input. */
import { fstatSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { type SigningKey, signingKey } from '../../src/adapters/algorand/signing-keys.js'
import { SvcError } from '../../src/domain/errors.js'
import { note, printable } from '../output.js'
import { walletWords } from './wallet-words.js'

const STANDARD_INPUT = 0

/**
 * Says which words it took. A file that the shell opened
 * (`< wallet.txt`) was named for this command, and goes before the environment. A pipe does not: it may never end.
 *
 * @throws SvcError `no_signer`, `invalid_key`, `wallet_file_unusable`
 */
export async function readKey(file: string | undefined): Promise<SigningKey> {
  const isRedirected = file === undefined && fstatSync(STANDARD_INPUT).isFile()
  const words = isRedirected ? undefined : await walletWords(file)
  const given = words ?? (process.stdin.isTTY ? '' : await text(process.stdin))
  if (given.trim() === '')
    throw new SvcError(
      'No wallet is given: name its file with --wallet, or give the 25 words in SVC_MNEMONIC or on standard input',
      'no_signer',
    )
  // Told before they are read: where they are no wallet's, the user learns which ones these were.
  note(
    `The 25 words come from ${printable(words === undefined ? 'standard input' : (file ?? 'SVC_MNEMONIC'))}.`,
  )
  return signingKey(given)
}
