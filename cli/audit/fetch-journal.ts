/** Fetches the last calls of a running agent from its audit page: as many as the agent remembers, without payers. */
import { type JournalPiece, readPieces } from '../../src/adapters/journal/read-journal.js'
import { SvcError } from '../../src/client.js'

export async function fetchJournal(agentUrl: string): Promise<() => AsyncIterable<JournalPiece>> {
  const url = `${agentUrl.replace(/\/+$/, '')}/_svc/audit/runs.jsonl`
  const token = process.env.SVC_AUDIT_TOKEN
  const response = await fetch(url, {
    redirect: 'error',
    headers: token ? { authorization: `Bearer ${token}` } : {},
  })
  if (!response.ok || response.body === null) {
    throw new SvcError(
      `${url} answered ${response.status}. The agent is served with { audit: true } and asked from its own machine, or with { audit: { token } } and SVC_AUDIT_TOKEN`,
      'audit_unavailable',
      response.status,
    )
  }
  // Keep the pieces: they are read twice, and a second request could get other calls.
  const pieces: JournalPiece[] = []
  for await (const piece of readPieces(response.body)) pieces.push(piece)
  return async function* () {
    yield* pieces
  }
}
