/** Whether the challenge names a resource that everybody can reach, and the one that was asked. */
import { isIP } from 'node:net'
import { isRecord } from '../../../src/domain/x402.js'
import { type Check, failed, passed, quoted } from '../checks.js'
import type { SafeAnswer } from '../safe-fetch.js'

const NAME = 'public-resource'

/** Names that lead nowhere outside the network they are used in. */
const INNER_NAME = /(^|\.)(localhost|local|internal|intranet|lan|home|corp|test|example|invalid|home\.arpa)$/i

export function resourceCheck(answer: SafeAnswer, { resource }: Record<string, unknown>): Check {
  const text = isRecord(resource) ? resource.url : undefined
  if (typeof text !== 'string' || !URL.canParse(text)) {
    return failed(NAME, `resource.url is ${quoted(text)}`, 'Name the absolute URL that callers reach')
  }
  const url = new URL(text)
  const shown = quoted(text)
  if (url.protocol !== 'https:')
    return failed(
      NAME,
      `${shown} is not https`,
      'Serve it over https, and say so behind a proxy: x-forwarded-proto',
    )
  if (!isPublicName(url.hostname)) {
    return failed(
      NAME,
      `${shown} is not a public name`,
      'Have the proxy send x-forwarded-host, so that the public name is quoted',
    )
  }
  if (url.origin + url.pathname !== answer.url.origin + answer.url.pathname) {
    return failed(
      NAME,
      `${shown} is another resource than ${quoted(answer.url.href)}`,
      'Quote the URL that was asked: payers with strictResource refuse others',
    )
  }
  return passed(NAME, shown)
}

function isPublicName(hostname: string): boolean {
  const isAddress = isIP(hostname.replace(/^\[|\]$/g, '')) !== 0
  return !isAddress && hostname.includes('.') && !INNER_NAME.test(hostname)
}
