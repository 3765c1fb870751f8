/** Routes that pages of other sites can neither call nor read. Paid routes are for every page; these are not. */
import type { IncomingHttpHeaders } from 'node:http'
import type { FreeRoute, HostRequest } from '../route-types.js'

const PRIVATE = Object.freeze([
  'Cache-Control',
  'no-store',
  'Cross-Origin-Resource-Policy',
  'same-origin',
  'Cross-Origin-Opener-Policy',
  'same-origin',
  'Referrer-Policy',
  'no-referrer',
  'X-Content-Type-Options',
  'nosniff',
])

/** `admit` throws an HttpError for a caller that may not see the answer. */
export function privateRoute(
  path: string,
  admit: (request: HostRequest) => void,
  answer: FreeRoute['handle'],
): FreeRoute {
  return {
    path,
    method: 'GET',
    sameOrigin: true,
    headers: PRIVATE,
    handle(request) {
      admit(request)
      return answer(request)
    },
  }
}

/** A link may lead here from anywhere; a script, an image or a frame of another site may not. */
export function isForeignScript(headers: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site']
  const own = site === undefined || site === 'same-origin' || site === 'none'
  return !own && headers['sec-fetch-mode'] !== 'navigate'
}
