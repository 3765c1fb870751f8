/** Reads a request body: bounded in bytes and depth, JSON whatever its content type says. */
import type { IncomingMessage } from 'node:http'
import secureJson from 'secure-json-parse'
import { deeperThan } from '../../domain/json-depth.js'
import type { Presented } from '../../ports/charge.js'
import { HttpRefusal } from './refusal.js'

/** Deeper than any schema for people; shallow enough that no recursion over a body can exhaust the stack. */
const DEPTH_MAX = 64
/** How long an over-long body is still read and thrown away, so that its sender gets to see the refusal. */
const LINGER_MS = 5_000

const NONE = { kind: 'none' } as const

/** @throws HttpRefusal for what cannot be read, or is too large to be. */
export function readBody(
  req: IncomingMessage,
  bytesMax: number,
): Presented<unknown> | Promise<Presented<unknown>> {
  if (req.method !== 'POST' || !carriesBody(req)) {
    skipBody(req)
    return NONE
  }
  const encoding = req.headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') {
    throw new HttpRefusal(415, 'unsupported_encoding', 'Send the body without a Content-Encoding.')
  }
  return readBytes(req, bytesMax).then(parse)
}

/** A body that stays unread stops the socket, and a socket that is stopped cannot say that the caller has hung up. */
export function skipBody(req: IncomingMessage): void {
  if (req.readableFlowing === null && carriesBody(req)) req.resume()
}

function carriesBody(req: IncomingMessage): boolean {
  if (req.headers['transfer-encoding'] !== undefined) return true
  const length = req.headers['content-length']
  return length !== undefined && length !== '0'
}

/** Written here: a general reader's checks, which Node's parser has made already, cost a tenth of an unpaid request. */
function readBytes(req: IncomingMessage, bytesMax: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    const refuse = () => {
      req.off('data', take)
      linger(req)
      const message = `The body is larger than the ${bytesMax} bytes that are read.`
      reject(new HttpRefusal(413, 'body_too_large', message))
    }
    const incomplete = () =>
      reject(new HttpRefusal(400, 'incomplete_body', 'The body ended before it was complete.'))
    const take = (chunk: Buffer) => {
      length += chunk.length
      chunks.push(chunk)
      if (length > bytesMax) refuse()
    }
    // Closed while something around us was busy: it would say so to nobody any more.
    if (req.destroyed) return incomplete()
    if (Number(req.headers['content-length']) > bytesMax) return refuse()
    req.on('data', take)
    req.on('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)))
    req.on('close', () => {
      if (!req.readableEnded) incomplete()
    })
  })
}

/** Closing at once would reset the connection under a sender who is still writing, and the refusal would be lost. */
function linger(req: IncomingMessage): void {
  const timer = setTimeout(() => req.destroy(), LINGER_MS).unref()
  req.once('close', () => clearTimeout(timer))
  req.resume()
}

function parse(bytes: Buffer): Presented<unknown> {
  if (bytes.length === 0) return NONE
  const text = bytes.toString('utf8')
  if (deeperThan(text, DEPTH_MAX)) return malformed(`The body is nested deeper than ${DEPTH_MAX} levels.`)
  try {
    return { kind: 'read', value: secureJson.parse(text) }
  } catch (cause) {
    const forbidden = (cause as Error).message.includes('forbidden prototype')
    return malformed(
      forbidden ? 'The body has a key that no input may have (__proto__).' : 'The body is not valid JSON.',
    )
  }
}

function malformed(why: string): Presented<never> {
  return { kind: 'malformed', why }
}
