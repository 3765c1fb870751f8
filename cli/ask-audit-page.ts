/** Asks a running agent for what its audit page shows. The token is read from SVC_AUDIT_TOKEN. */
import { SvcError } from '../src/domain/index.js'

export interface AgentStream {
  readonly body: ReadableStream<Uint8Array>
  /** When it was answered by the agent's clock, to the second. */
  readonly atMs: number
}

export async function auditPageOf(
  agentUrl: string,
  part: 'runs.jsonl' | 'events',
  signal?: AbortSignal,
): Promise<AgentStream> {
  const url = `${agentUrl.replace(/\/+$/, '')}/_svc/audit/${part}`
  const response = await answerOf(url, signal)
  const { body, headers } = response
  if (response.ok && body !== null) return { body, atMs: Date.parse(headers.get('date') ?? '') || 0 }
  await body?.cancel()
  throw new SvcError(
    `${url} answered ${response.status}: ${cureOf(response.status)}`,
    'audit_unavailable',
    response.status,
  )
}

async function answerOf(url: string, signal: AbortSignal | undefined): Promise<Response> {
  const token = process.env.SVC_AUDIT_TOKEN
  const headers = token ? { authorization: `Bearer ${token}` } : undefined
  try {
    return await fetch(url, { redirect: 'error', headers, signal })
  } catch (error) {
    const cause = (error as Error).cause ?? error
    throw new SvcError(`${url} did not answer (${(cause as Error).message})`, 'audit_unavailable')
  }
}

function cureOf(status: number): string {
  if (status === 401) return 'put the token of its audit page into SVC_AUDIT_TOKEN'
  if (status === 403) return 'ask from its own machine, or serve it with { audit: { token } }'
  if (status === 404)
    return 'serve the agent with { audit: true }, or with { audit: { token } } and SVC_AUDIT_TOKEN'
  return status === 503 ? 'too many are watching, try later' : 'this may be no agent'
}
