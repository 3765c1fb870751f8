/** Answers that nobody reads while their connection ends. Undici throws where nothing can catch it (nodejs/undici#5360). */
import type { Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { generateAccount } from 'algosdk'
import { Agent, getGlobalDispatcher, fetch as packageFetch, setGlobalDispatcher } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { resumingFetch } from '../../src/adapters/outbound/paused-replies.js'
import { SvcClient } from '../../src/client.js'
import { closing } from '../support/closing.js'
import { rawUpstream } from '../support/raw-upstream.js'

/** Node 20's own connections do not have the fault of Node 22 and 24, which the package has. */
const before = getGlobalDispatcher()
beforeAll(() => setGlobalDispatcher(new Agent()))
afterAll(async () => {
  const used = getGlobalDispatcher()
  setGlobalDispatcher(before)
  await used.close()
})

/** Pseudo-random, so that it stays larger than what may wait when it is compressed. */
const BODY = Uint8Array.from({ length: 200_000 }, (_, at) => (at * at * 2_654_435_761) >>> 13)
const HEAD = 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/octet-stream\r\n'
const FINISHES = {
  ends: (socket: Socket) => void socket.end(),
  'is reset': (socket: Socket) => void socket.resetAndDestroy(),
}

/** A seller whose connection finishes as soon as everything has left it. */
async function seller(finish: keyof typeof FINISHES, bytes: Uint8Array, headers = '') {
  const server = closing(await rawUpstream())
  const finished = new Promise<void>(resolve => {
    server.answer = async socket => {
      const head = `${HEAD}${headers}Content-Length: ${bytes.length}\r\n\r\n`
      await new Promise<void>(written =>
        socket.write(Buffer.concat([Buffer.from(head), bytes]), () => written()),
      )
      FINISHES[finish](socket)
      await turns()
      resolve()
    }
  })
  return { url: server.url, finished }
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await setImmediate()
}

async function slowlyRead(body: ReadableStream<Uint8Array>): Promise<number> {
  let length = 0
  for await (const bytes of body) {
    length += bytes.length
    await turns()
  }
  return length
}

const client = new SvcClient({ secretKey: generateAccount().sk, network: 'testnet', retry: false })
const OPENED: Readonly<
  Record<string, (url: string) => Promise<{ readonly body: ReadableStream<Uint8Array> | null }>>
> = {
  'client.stream': url => client.stream(url, undefined, { method: 'GET' }),
  'client.fetch': url => client.fetch(url),
  "undici's own fetch": async url =>
    (await resumingFetch(packageFetch as unknown as typeof fetch, new Agent())(url)) as Response,
}

describe.each(Object.entries(OPENED))('an answer to %s', (_, open) => {
  it('is whole where its connection ended before it was read', async () => {
    const { url, finished } = await seller('ends', BODY)
    const { body } = await open(url)
    await finished
    expect(await slowlyRead(body!)).toBe(BODY.length)
  })

  it.each([16_500, 65_537, 200_000])(
    'of %i bytes whose connection is reset is whole, or an error of its reader',
    async size => {
      const { url, finished } = await seller('is reset', BODY.subarray(0, size))
      const { body } = await open(url)
      await finished
      const read = await slowlyRead(body!).catch(({ message }: Error) => message)
      expect(read === size || typeof read === 'string').toBe(true)
    },
  )
})

it.each(['ends', 'is reset'] as const)(
  'a compressed answer whose connection %s is whole, or lost',
  async finish => {
    const { url } = await seller(finish, gzipSync(BODY), 'Content-Encoding: gzip\r\n')
    const whole = client.call(url, undefined, { method: 'GET' }).then(({ data }) => data)
    if (finish === 'ends') expect(Buffer.compare((await whole) as Uint8Array, BODY)).toBe(0)
    else
      expect(await whole.catch(({ code }) => code)).toSatisfy(
        got => got === 'network_error' || got.length === BODY.length,
      )
  },
)
