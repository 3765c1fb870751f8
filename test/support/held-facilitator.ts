/** A facilitator that passes everything on to a sandbox's, but holds the next request where a test tells it to. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Sandbox } from '../../src/sandbox.js'
import { closing } from './closing.js'

interface Held {
  /** Resolves once the request has come. It is not passed on. */
  readonly arrived: Promise<void>
  /** Answers it with what `hold` was given. */
  answer(): void
}

export function heldFacilitator() {
  let sandbox: Sandbox | undefined
  const asked: string[] = []
  const held = new Map<string, (answer: (value: unknown) => void) => void>()
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const answer = (value: unknown) => {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(value))
    }
    asked.push(request.url!)
    const hold = held.get(request.url!)
    held.delete(request.url!)
    if (hold) return hold(answer)
    const passedOn = await fetch(`${sandbox!.facilitatorUrl}${request.url}`, {
      method: request.method!,
      headers: { 'content-type': 'application/json' },
      ...(body !== '' && { body }),
    })
    answer(await passedOn.json())
  })
  const listening = once(server.listen(0, '127.0.0.1'), 'listening')
  closing({
    close() {
      server.closeAllConnections()
      server.close()
    },
  })
  return {
    url: listening.then(() => `http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    count: (path: string) => asked.filter(one => one === path).length,
    serves(given: Sandbox) {
      sandbox = given
    },
    hold(path: '/verify' | '/settle', reply: object): Held {
      let arrive = () => {}
      let answerIt = () => {}
      const arrived = new Promise<void>(resolve => {
        arrive = resolve
      })
      const told = new Promise<void>(resolve => {
        answerIt = resolve
      })
      held.set(path, answer => {
        arrive()
        told.then(() => answer(reply))
      })
      return { arrived, answer: answerIt }
    },
  }
}
