/** Journals as a test reads them: opened, read and closed. */
import { type JournalPiece, openJournals } from '../../src/audit/journal/journal-reader.js'

export async function* readJournals(paths: readonly string[]): AsyncGenerator<JournalPiece> {
  const journals = await openJournals(paths)
  try {
    yield* journals.pieces()
  } finally {
    await journals.close()
  }
}
