/** The challenge in a stranger's 402, as far as it can be read. */

import { deeperThan } from '../../../src/domain/json-depth.js'
import { publicNetworkOf, USDC_ASSET_ID } from '../../../src/domain/network.js'
import {
  isRecord,
  PAYMENT_REQUIRED_HEADER,
  type PaymentRequirements,
  readRequirements,
} from '../../../src/domain/x402.js'
import type { SafeAnswer } from '../safe-fetch.js'

export interface ReadChallenge {
  readonly challenge?: Record<string, unknown>
  /** Why there is none. */
  readonly why?: string
}

const DEPTH_MAX = 32
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

export function challengeIn({ headers }: SafeAnswer): ReadChallenge {
  const header = headers.get(PAYMENT_REQUIRED_HEADER)
  if (header === null) return { why: `there is no ${PAYMENT_REQUIRED_HEADER} header` }
  if (!BASE64.test(header)) return { why: 'the header is not standard base64' }
  const text = Buffer.from(header, 'base64').toString('utf8')
  if (deeperThan(text, DEPTH_MAX)) return { why: `its JSON nests deeper than ${DEPTH_MAX}` }
  try {
    const challenge: unknown = JSON.parse(text)
    return isRecord(challenge) ? { challenge } : { why: 'the header holds no JSON object' }
  } catch {
    return { why: 'the header holds no JSON' }
  }
}

/** The entries that ask for something on Algorand, in any form of its networks' ids. */
export function algorandEntries(challenge: Record<string, unknown>): readonly PaymentRequirements[] {
  const { accepts } = challenge
  if (!Array.isArray(accepts)) return []
  return accepts.slice(0, ENTRIES_MAX).flatMap(entry => {
    const requirements = readRequirements(entry)
    return requirements && publicNetworkOf(requirements.network) ? [requirements] : []
  })
}

const ENTRIES_MAX = 50

export function isUsdc({ network, asset }: PaymentRequirements): boolean {
  const known = publicNetworkOf(network)
  return known !== undefined && asset === String(USDC_ASSET_ID[known])
}
