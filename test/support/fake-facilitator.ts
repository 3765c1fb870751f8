/** A facilitator over real sockets that says, and does, whatever a test tells it to. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { closing } from './closing.js'

export type Path = '/supported' | '/verify' | '/settle'
export type Reply = (response: ServerResponse) => void

export interface Asked {
  readonly path: string
  readonly method: string
  readonly body: unknown
  readonly authorization?: string | undefined
}

export interface FakeFacilitator {
  readonly url: string
  /** What each path does from now on. */
  readonly replies: Record<Path, Reply>
  /** All requests so far, oldest first. */
  readonly asked: readonly Asked[]
  readonly socketsOpened: number
  /** The most requests that it has worked on at a time. */
  readonly atOnceMax: number
  /** How often the path has been asked so far. */
  count(path: Path): number
  /** Resolves once the path has been asked so many times in all. */
  askedTimes(path: Path, times: number): Promise<void>
  close(): Promise<void>
}

/**
 * For the test that is running. Unless told otherwise it says yes to everything and moves nothing: whatever a test counts
 * at it, our server alone has prevented or allowed.
 */
export async function fakeFacilitator(replies: Partial<Record<Path, Reply>> = {}): Promise<FakeFacilitator> {
  const asked: Asked[] = []
  const waiting = new Set<() => void>()
  const script: Record<Path, Reply> = {
    '/supported': json({ kinds: [] }),
    '/verify': json({ isValid: true }),
    '/settle': json({ success: true, transaction: 'TX', network: '' }),
    ...replies,
  }
  const count = (path: Path) => asked.filter(one => one.path === path).length
  let socketsOpened = 0
  let atOnce = 0
  let atOnceMax = 0

  const server = createServer(async (request, response) => {
    atOnceMax = Math.max(atOnceMax, ++atOnce)
    response.on('finish', () => atOnce--)
    let text = ''
    for await (const chunk of request) text += chunk
    const path = request.url as Path
    const { authorization } = request.headers
    const body = text === '' ? undefined : JSON.parse(text)
    asked.push({ path, method: request.method!, body, ...(authorization !== undefined && { authorization }) })
    for (const check of waiting) check()
    const reply = script[path] ?? status(404)
    reply(response)
  })
  server.on('connection', () => {
    socketsOpened++
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return closing({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    replies: script,
    asked,
    get socketsOpened() {
      return socketsOpened
    },
    get atOnceMax() {
      return atOnceMax
    },
    count,
    askedTimes: (path, times) =>
      new Promise(resolve => {
        const check = () => {
          if (count(path) < times) return
          waiting.delete(check)
          resolve()
        }
        waiting.add(check)
        check()
      }),
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  })
}

export const json = (body: unknown, code = 200): Reply => text(JSON.stringify(body), code)

export const text =
  (body: string, code = 200, contentType = 'application/json'): Reply =>
  response => {
    response.writeHead(code, { 'content-type': contentType }).end(body)
  }

export const status = (code: number): Reply => text('', code)

export const redirect =
  (location: string, code = 307): Reply =>
  response => {
    response.writeHead(code, { location }).end()
  }

export const reset: Reply = response => {
  response.socket?.resetAndDestroy()
}

export const hang: Reply = () => {}

/** Answers the head and half of the body, then nothing more. */
export const stall: Reply = response => {
  response
    .writeHead(200, { 'content-type': 'application/json', 'content-length': 1_000 })
    .write('{"isValid":')
}

/** Promises more than it sends, and hangs up. */
export const truncate =
  (body: string): Reply =>
  response => {
    response.writeHead(200, { 'content-length': body.length + 100 })
    response.write(body, () => response.destroy())
  }

/** A body without end, as fast as it is read. `onCut` is told how much was sent when the reader hung up. */
export const endless =
  (onCut: (bytes: number) => void = () => {}): Reply =>
  response => {
    const chunk = Buffer.alloc(16 * 1024, ' ')
    let bytes = 0
    const pour = () => {
      let more = true
      while (more && !response.destroyed) {
        bytes += chunk.length
        more = response.write(chunk)
      }
    }
    response.on('drain', pour).on('close', () => onCut(bytes))
    response.writeHead(200, { 'content-type': 'application/json' })
    pour()
  }
