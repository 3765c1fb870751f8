/** A node that answers what the test says, over real HTTP. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface FakeNode {
  readonly url: string
  readonly requests: string[]
  readonly headers: IncomingMessage['headers'][]
  close(): Promise<void>
}

type Answer = (path: string, response: ServerResponse) => unknown

/** What `answer` returns is sent as JSON; with `undefined` it has answered, or not, by itself. */
export async function fakeNode(answer: Answer): Promise<FakeNode> {
  const requests: string[] = []
  const headers: IncomingMessage['headers'][] = []
  const server = createServer((request, response) => {
    requests.push(request.url!)
    headers.push(request.headers)
    const value = answer(request.url!, response)
    if (value === undefined) return
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(value))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    headers,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
