/**
 * The 25 words of a wallet: in a file that only its owner can use, or in the environment. Never an argument, which shell histories
 * and lists of processes show.
 */
import { constants, fstatSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { SvcError } from '../src/domain/index.js'
import type { SigningKey } from '../src/wallet/index.js'
import { note, printable } from './output.js'

const FILE_BYTES_MAX = 4_096
/** Reading, writing or running by the group or by others. */
const OTHERS = 0o077

/** `undefined` where no wallet is named. @throws SvcError `wallet_file_unusable` */
export async function walletWords(file: string | undefined): Promise<string | undefined> {
  const words = taken('SVC_MNEMONIC')
  return file === undefined ? words : wordsInFile(file, 'wallet_file_unusable')
}

/** A secret of the environment, removed from it before anything is sent, so that no child process or crash report contains it. */
export function taken(name: string): string | undefined {
  const value = process.env[name] || undefined
  delete process.env[name]
  return value
}

/** @throws SvcError with this code */
export async function wordsInFile(path: string, code: string): Promise<string> {
  const unusable = (why: string) => new SvcError(`${path} ${why}`, code)
  // Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => {
    throw unusable('cannot be opened')
  })
  try {
    return await wordsIn(file, path, unusable)
  } finally {
    await file.close()
  }
}

/** Asks the open file, which no other file can take the place of. */
async function wordsIn(file: FileHandle, path: string, unusable: (why: string) => SvcError): Promise<string> {
  const { mode, size } = await file.stat()
  const isFile = (mode & constants.S_IFMT) === constants.S_IFREG
  if (!isFile || size > FILE_BYTES_MAX) throw unusable('is no file of 25 words')
  if ((mode & OTHERS) !== 0) throw unusable(`can be used by others: chmod 600 ${path}`)
  return file.readFile('utf8')
}

const STANDARD_INPUT = 0

/**
 * The key of a wallet, for `svc wallet`: its words may also come on standard input. Says which words it took. A file that the shell opened
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
  const { signingKey } = await import('../src/wallet/index.js')
  return signingKey(given)
}
