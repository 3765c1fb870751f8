/**
 * The signature scheme of Standard Webhooks, version 1: it proves the sender, the time and the content of a message.
 *
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
import { createHmac } from 'node:crypto'
import { SvcError } from '../../domain/errors.js'

const PREFIX = 'whsec_'
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
const SECRET_BYTES_MIN = 24
const SECRET_BYTES_MAX = 64

/** @throws SvcError `invalid_options` unless it is base64 of 24 to 64 bytes, with or without `whsec_` before it. */
export function secretKey(secret: unknown): Buffer {
  const text = typeof secret === 'string' ? secret.replace(PREFIX, '') : ''
  const key = BASE64.test(text) ? Buffer.from(text, 'base64') : Buffer.alloc(0)
  if (key.length >= SECRET_BYTES_MIN && key.length <= SECRET_BYTES_MAX) return key
  throw new SvcError(
    `A webhook's secret is '${PREFIX}' and base64 of ${SECRET_BYTES_MIN} to ${SECRET_BYTES_MAX} bytes, as openssl rand -base64 32 makes them`,
    'invalid_options',
  )
}

/** The id is the same in every attempt, so that a receiver can ignore a message that it has seen. */
export function signedHeaders(key: Buffer, id: string, nowMs: number, body: string): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1_000))
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  }
}
