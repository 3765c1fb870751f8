/** The sponsor's 25 words: from the environment, or from a file that only its owner can read. Never an argument. */
import { SvcError } from '../../src/domain/errors.js'
import { wordsInFile } from '../wallet/wallet-words.js'

/** @throws SvcError `no_signer` or `sponsor_file_unusable` */
export async function readSponsor(path: string | undefined): Promise<string> {
  const words = process.env.SVC_SPONSOR_MNEMONIC || undefined
  // No child process and no crash report contains it.
  delete process.env.SVC_SPONSOR_MNEMONIC
  if (path !== undefined) return wordsInFile(path, 'sponsor_file_unusable')
  if (words !== undefined) return words
  throw new SvcError(
    'SVC_SPONSOR_MNEMONIC is not set, and no --sponsor-file is given: one of them has the 25 words of the sponsor',
    'no_signer',
  )
}
