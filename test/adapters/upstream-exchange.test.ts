/** A stream of an upstream whose reader is slow, while its connection ends. Undici throws where nothing can catch it (nodejs/undici#5360). */
import type { Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { exchangeWithUpstream } from '../../src/adapters/outbound/upstream-exchange.js'
import type { StreamSource } from '../../src/domain/handler.js'
import { closing } from '../support/closing.js'
import { rawUpstream } from '../support/raw-upstream.js'

/** Its last byte is the first too many to wait: the reply is paused when all of it has been parsed. */
const BODY = 'x'.repeat(65_537)
const WHOLE = '65537 bytes'
const BROKEN = 'broken'

/** What is sent, and what its reader has when the connection has ended, and when it was reset. */
const REPLIES: readonly (readonly [name: string, sent: string, ended: string, reset: string])[] = [
  [
    'of a known length',
    `1.1 200 OK\r\nConnection: close\r\nContent-Length: 65537\r\n\r\n${BODY}`,
    WHOLE,
    BROKEN,
  ],
  ['of a known length, kept', `1.1 200 OK\r\nContent-Length: 65537\r\n\r\n${BODY}`, WHOLE, BROKEN],
  ['cut', `1.1 200 OK\r\nConnection: close\r\nContent-Length: 65538\r\n\r\n${BODY}`, BROKEN, BROKEN],
  [
    'in chunks',
    `1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10001\r\n${BODY}\r\n0\r\n\r\n`,
    WHOLE,
    BROKEN,
  ],
  [
    'in chunks, cut',
    `1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n10002\r\n${BODY}`,
    BROKEN,
    BROKEN,
  ],
  ['of HTTP/1.0', `1.0 200 OK\r\nContent-Length: 65537\r\n\r\n${BODY}`, WHOLE, BROKEN],
  ['of HTTP/1.0, open-ended', `1.0 200 OK\r\n\r\n${BODY}`, WHOLE, BROKEN],
]

const cases = REPLIES.flatMap(([name, sent, ended, reset]) => [
  [name, 'ends', sent, (socket: Socket): void => void socket.end(), ended] as const,
  [name, 'is reset', sent, (socket: Socket): void => void socket.resetAndDestroy(), reset] as const,
])

it.each(cases)(
  'a stream %s, whose connection %s while nobody reads',
  async (_, __, sent, finish, expected) => {
    const upstream = closing(await rawUpstream())
    const ended = new Promise<void>(resolve => {
      upstream.answer = async socket => {
        await new Promise<void>(written => socket.write(`HTTP/${sent}`, () => written()))
        // A reset must not overtake the body.
        await turns()
        finish(socket)
        await turns()
        resolve()
      }
    })
    const request = { origin: upstream.url, path: '/', method: 'GET', headers: [], isStream: () => true }
    const { body } = await exchangeWithUpstream(request, () => {})
    await ended
    expect(await readTo(body as StreamSource)).toBe(expected)
  },
)

/** Enough for what lies in the kernel of this machine to arrive. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await setImmediate()
}

async function readTo(source: StreamSource): Promise<string> {
  let length = 0
  try {
    for (;;) {
      const { done, bytes } = await source.next()
      if (done) return `${length} bytes`
      length += bytes!.length
    }
  } catch {
    return BROKEN
  }
}
