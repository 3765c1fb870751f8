/** The sponsor's 25 words: from the environment, or from a file that only its owner can read. Never an argument. */
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { SvcError } from '../../src/domain/errors.js'

const FILE_BYTES_MAX = 4_096
/** Reading, writing or running by the group or by others. */
const OTHERS = 0o077

/** @throws SvcError `no_signer` or `sponsor_file_unusable` */
export async function readSponsor(path: string | undefined): Promise<string> {
  const words = process.env.SVC_SPONSOR_MNEMONIC || undefined
  // No child process and no crash report contains it.
  delete process.env.SVC_SPONSOR_MNEMONIC
  if (path !== undefined) return fromFile(path)
  if (words !== undefined) return words
  throw new SvcError(
    'SVC_SPONSOR_MNEMONIC is not set, and no --sponsor-file is given: one of them has the 25 words of the sponsor',
    'no_signer',
  )
}

async function fromFile(path: string): Promise<string> {
  // Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => {
    throw unusable(`${path} cannot be opened`)
  })
  try {
    return await wordsIn(file, path)
  } finally {
    await file.close()
  }
}

/** Asks the open file, which no other file can take the place of. */
async function wordsIn(file: FileHandle, path: string): Promise<string> {
  const { mode, size } = await file.stat()
  const isFile = (mode & constants.S_IFMT) === constants.S_IFREG
  if (!isFile || size > FILE_BYTES_MAX) throw unusable(`${path} is no file of 25 words`)
  if ((mode & OTHERS) !== 0) throw unusable(`${path} can be used by others: chmod 600 ${path}`)
  return file.readFile('utf8')
}

function unusable(message: string): SvcError {
  return new SvcError(message, 'sponsor_file_unusable')
}
