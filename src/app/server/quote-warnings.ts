/** What a seller is told at start about quotes that indexes show in part, or that may not arrive. */
import type { AgentDef } from '../../domain/agent.js'
import type { EndpointDef } from '../../domain/endpoint.js'
import { BASE_UNITS_MAX } from '../../domain/money.js'
import { quotedTags } from '../../domain/service-metadata.js'
import { PAYMENT_REQUIRED_HEADER } from '../../domain/x402.js'
import { type Terms, UNPAID } from '../charge/payment-challenge.js'
import type { Warn } from './settings-from-options.js'

export function warnOfMetadata({ serviceName, endpoints }: AgentDef, warn: Warn): void {
  if (serviceName === undefined)
    warn(
      "Quotes do not name the service: indexes take 1 to 32 printable ASCII characters, which the agent's name is not. Set serviceName",
    )
  for (const { name, tags, listed } of endpoints) {
    const shown = new Set(quotedTags(tags))
    const hidden = tags.filter(tag => !shown.has(tag))
    if (listed && hidden.length > 0)
      warn(
        `Quotes of endpoint '${name}' leave out the tags ${hidden.join(', ')}: indexes take five different ones, each of 1 to 32 printable ASCII characters`,
        { endpoint: name },
      )
  }
}

/** Many proxies read 8 KiB of an answer's headers, and refuse the answer where there are more. */
const QUOTE_BYTES_MAX = 8_192

/** An origin and a sponsor of usual lengths: neither is known at start. No quote of this amount is kept: no price is as high. */
const ORIGIN = 'https://agent.example'
const SUPPORTED = { network: '', feePayer: 'A'.repeat(58) }

export function warnOfSize({ name }: EndpointDef, terms: Terms, basePath: string, warn: Warn): void {
  const requirements = terms.requirements(BASE_UNITS_MAX, SUPPORTED)
  const { header } = terms.challenge(ORIGIN + basePath, requirements, UNPAID)
  const bytes = `${PAYMENT_REQUIRED_HEADER}: ${header}\r\n`.length
  if (bytes <= QUOTE_BYTES_MAX) return
  warn(
    `The quote of endpoint '${name}' is a header of about ${bytes} bytes, and proxies refuse more than ${QUOTE_BYTES_MAX}: shorten the description, the schemas, extra or merchant`,
    { endpoint: name, bytes },
  )
}
