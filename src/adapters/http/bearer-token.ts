import { createHash, timingSafeEqual } from 'node:crypto'

/**
 * Whether a header `Authorization` holds this token, as `Bearer <token>` or in the form that browsers send: any user name, with
 * the token as the password. Compares hashes, which have one length: neither the token's length nor the position of a difference
 * affects the time.
 */
export function holdsToken(authorization: string | undefined, token: string): boolean {
  const [a, b] = [presentedIn(authorization), token].map(text => createHash('sha256').update(text).digest())
  return timingSafeEqual(a!, b!)
}

function presentedIn(authorization = ''): string {
  const [scheme = '', value = ''] = authorization.split(' ', 2)
  if (scheme.toLowerCase() === 'bearer') return value
  if (scheme.toLowerCase() !== 'basic') return ''
  const pair = Buffer.from(value, 'base64').toString('utf8')
  return pair.slice(pair.indexOf(':') + 1)
}
