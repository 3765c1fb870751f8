/** What one request of a stranger costs a server in another process: time of its processor, memory, questions, bytes. */
import { once } from 'node:events'
import { Agent, createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { ChildAgent } from './child-agent.js'

export interface StrangersRequest {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface Cost {
  readonly cpuMs: number
  /** The most memory that was in use, above what was in use before. */
  readonly memoryBytes: number
  /** Of the head, as HTTP/1.1 writes it, and the body. */
  readonly answerBytes: number
}

interface Used {
  readonly until: { readonly cpuMs: number; readonly peakBytes: number }
  /** After the garbage was collected. */
  readonly from: { readonly cpuMs: number; readonly restBytes: number }
}

const oneConnection = new Agent({ keepAlive: true, maxSockets: 1 })

/** What each of these requests costs, one after the other: each is sent so many times, and counted as one. */
export async function costsOf(
  child: ChildAgent,
  requests: readonly (readonly [url: string, request: StrangersRequest])[],
  times = 2,
): Promise<readonly Cost[]> {
  const costs: Cost[] = []
  let { from } = await used(child)
  for (const [url, request] of requests) {
    let answerBytes = 0
    for (let time = 0; time < times; time++) {
      const { headBytes, body } = await asked(url, request)
      answerBytes = headBytes + body.length
    }
    const after = await used(child)
    costs.push({
      cpuMs: (after.until.cpuMs - from.cpuMs) / times,
      memoryBytes: Math.max(0, after.until.peakBytes - from.restBytes),
      answerBytes,
    })
    from = after.from
  }
  return costs
}

async function used(child: ChildAgent): Promise<Used> {
  child.letGo()
  return (await child.said('used')).used as Used
}

export async function asked(url: string, { method = 'POST', path, headers, body = '' }: StrangersRequest) {
  const own = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  const sent = httpRequest(url + path, { method, agent: oneConnection, headers: { ...own, ...headers } })
  sent.end(body)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const headBytes = response.rawHeaders.reduce((sum, text) => sum + text.length + 2, 0)
  return { status: response.statusCode!, headBytes, body: await buffer(response) }
}

export interface CountingProxy {
  readonly url: string
  /** The questions since the last time: method and path of each. */
  taken(): readonly string[]
  close(): void
}

/** Counts what is asked of what stands behind it. */
export async function countingProxy(target: string): Promise<CountingProxy> {
  const questions: string[] = []
  const server = createServer(async (request, response) => {
    const { method, url = '/', headers } = request
    questions.push(`${method} ${url.replace(/[A-Z2-7]{52,58}/g, '<id>')}`)
    const body = await buffer(request)
    const type = headers['content-type'] ?? 'application/json'
    const sent = { method, headers: { 'content-type': type }, ...(body.length > 0 && { body }) }
    const answer = await fetch(target + url, sent)
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' })
    response.end(Buffer.from(await answer.arrayBuffer()))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    taken: () => questions.splice(0),
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
