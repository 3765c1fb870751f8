/** A facilitator that passes everything on to a sandbox's, but holds the next requests where a test tells it to. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Sandbox } from '../../src/sandbox.js'
import { closing } from './closing.js'

interface Held {
  /** Resolves once all that is to be held has come. */
  readonly arrived: Promise<void>
  /** Answers them with what `hold` was given. */
  answer(): void
}

interface HoldOptions {
  /** Let the sandbox carry them out, and hold its answers. @default they are not passed on */
  readonly landed?: boolean
  /** How many. @default 1 */
  readonly times?: number
}

type Answer = (value: unknown) => void

/** @param ends closes it in time; by default at the end of the test that is running */
export function heldFacilitator(ends: (opened: { close(): void }) => unknown = closing) {
  let sandbox: Sandbox | undefined
  const asked: string[] = []
  const held = new Map<string, (answer: Answer, carryOut: () => Promise<unknown>) => void>()
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const answer: Answer = value => {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(value))
    }
    const carryOut = async () => {
      const passedOn = await fetch(`${sandbox!.facilitatorUrl}${request.url}`, {
        method: request.method!,
        headers: { 'content-type': 'application/json' },
        ...(body !== '' && { body }),
      })
      return passedOn.json()
    }
    asked.push(request.url!)
    const hold = held.get(request.url!)
    if (hold) return hold(answer, carryOut)
    answer(await carryOut())
  })
  const listening = once(server.listen(0, '127.0.0.1'), 'listening')
  ends({
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
    hold(path: '/verify' | '/settle', reply: object, { landed = false, times = 1 }: HoldOptions = {}): Held {
      let left = times
      let missing = times
      let arrive = () => {}
      let answerIt = () => {}
      const arrived = new Promise<void>(resolve => {
        arrive = resolve
      })
      const told = new Promise<void>(resolve => {
        answerIt = resolve
      })
      held.set(path, async (answer, carryOut) => {
        if (--left === 0) held.delete(path)
        if (landed) await carryOut()
        if (--missing === 0) arrive()
        told.then(() => answer(reply))
      })
      return { arrived, answer: answerIt }
    },
  }
}
