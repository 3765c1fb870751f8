import { fromBase64, textOf, textToBase64, toBase64 } from './bytes.js'
import { isWithin, JSON_DEPTH_MAX, type JsonBounds, nestsDeeperThan } from './json.js'
import { parseBaseUnits } from './money.js'
import { isIdOf, type NetworkFacts } from './network.js'

/**
 * x402 version 2 on the wire: the challenge, the payment, the receipt, and the base64 JSON that carries them in
 * headers. Received values are `unknown` until a reader in this file has checked them.
 *
 * @see x402 v2
 */

export const X402_VERSION = 2
export const PAYMENT_REQUIRED_HEADER = 'PAYMENT-REQUIRED'
export const PAYMENT_SIGNATURE_HEADER = 'PAYMENT-SIGNATURE'
export const PAYMENT_RESPONSE_HEADER = 'PAYMENT-RESPONSE'
/** The name of the payment header in version 1. It is still accepted. */
export const LEGACY_PAYMENT_HEADER = 'X-PAYMENT'

/** Of balances: the endpoint that sells them, what a quote says of them, and the headers of a call on one. */
export const BALANCE_ENDPOINT = 'balance'
export const BALANCE_EXTENSION = 'svc-balance'
export const BALANCE_KEY_HEADER = 'x-svc-balance-key'
export const MAX_CHARGE_HEADER = 'x-svc-max-charge'

/** One way to pay, as a quote offers it. Amounts of money are strings of digits. @see x402 v2 */
export interface PaymentRequirements {
  /** The payment scheme; `exact` here. */
  readonly scheme: string
  /** The network's CAIP-2 id. */
  readonly network: string
  /** Base units of the asset. */
  readonly amount: string
  /** The asset's id; USDC's id is in {@link USDC_ASSET_ID}. */
  readonly asset: string
  /** The address that is paid. */
  readonly payTo: string
  /** How long a payment may take to settle, in seconds. */
  readonly maxTimeoutSeconds: number
  /** Fields of the scheme, such as who pays the network's fee. */
  readonly extra: Readonly<Record<string, unknown>>
}

/** What is paid for. */
export interface ResourceInfo {
  /** The URL at which it is called, as its seller sees it. */
  readonly url: string
  /** What it does. */
  readonly description?: string
  /** The MIME type of its answer. */
  readonly mimeType?: string
  /** The name of the service, as indexes show it. */
  readonly serviceName?: string
  /** What it is about, as indexes show it. */
  readonly tags?: readonly string[]
  /** The address of the service's picture. */
  readonly iconUrl?: string
}

/** The content of a 402 (the decoded `PAYMENT-REQUIRED` header). @see x402 v2 */
export interface PaymentRequired {
  /** The protocol version, 2. */
  readonly x402Version: number
  /** Why the call is not answered, for people. */
  readonly error?: string
  /** What is paid for. */
  readonly resource: ResourceInfo
  /** The ways to pay. The payer chooses one. */
  readonly accepts: readonly PaymentRequirements[]
  /** Fields of protocol extensions. */
  readonly extensions?: Readonly<Record<string, unknown>>
}

/**
 * What a payer sends. Except for the two versions, all of it is the payer's claim: rely only on fields that a check
 * has read.
 *
 * @see x402 v2
 */
export interface PaymentPayload {
  readonly x402Version?: unknown
  readonly payload?: unknown
  readonly accepted?: unknown
  readonly resource?: unknown
  readonly extensions?: unknown
}

/** The decoded `PAYMENT-RESPONSE` header: the official receipt's fields and this specification's fields. @see x402 v2 */
export interface Receipt {
  readonly success: boolean
  readonly transaction: string
  readonly network: string
  readonly payer?: string
  readonly txId: string
  readonly amount: string
  readonly asset: string
  readonly errorReason?: string
}

export function encodeHeader(value: unknown): string {
  return textToBase64(JSON.stringify(value))
}

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/** Decodes the JSON object in a header; `undefined` where the text is not standard base64 of a JSON object. */
export function decodeHeader(text: string): Record<string, unknown> | undefined {
  const bytes = fromBase64(text)
  // The usual spelling, written again, is the same text. That takes a tenth of the pattern's time.
  if (toBase64(bytes) !== text && !BASE64.test(text)) return undefined
  try {
    return recordAt(JSON.parse(textOf(bytes)))
  } catch {
    return undefined
  }
}

/**
 * Like `decodeHeader`, but also accepts base64url, which some sellers write. Use it for answers only: every x402
 * server reads a payment header as standard base64. A lenient server would accept payments that a proxy or a second
 * server of the same seller refuses. An answer that is nested too deep to be sent back is `undefined`, too.
 */
export function decodeAnswerHeader(text: string): Record<string, unknown> | undefined {
  const value = decodeHeader(text.replaceAll('-', '+').replaceAll('_', '/'))
  return nestsDeeperThan(value, JSON_DEPTH_MAX) ? undefined : value
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What a stranger's value has at this path; `undefined` where there is no object on the way. */
export function memberAt(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce((at, name) => (isRecord(at) ? at[name] : undefined), value)
}

export function recordAt(value: unknown, ...path: readonly string[]): Record<string, unknown> | undefined {
  const found = memberAt(value, ...path)
  return isRecord(found) ? found : undefined
}

export function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Whether an `accepted` means the same payment as these requirements. Both forms of the network's id mean it. */
export function sameTerms(
  accepted: Record<string, unknown>,
  requirements: PaymentRequirements,
  network: NetworkFacts,
): boolean {
  return (
    accepted.scheme === requirements.scheme &&
    isIdOf(network, accepted.network) &&
    accepted.amount === requirements.amount &&
    accepted.asset === requirements.asset &&
    accepted.payTo === requirements.payTo
  )
}

/**
 * The requirements with the network's id as the payer spelt it. Only a spelling of the same network is taken over, so no
 * text of the payer's own gets into them.
 */
export function speltAs(
  accepted: unknown,
  requirements: PaymentRequirements,
  network: NetworkFacts,
): PaymentRequirements {
  const spelt = memberAt(accepted, 'network')
  if (spelt === requirements.network || !isIdOf(network, spelt)) return requirements
  return { ...requirements, network: spelt }
}

/** Reads one entry of `accepts`; `undefined` where a field that a payer relies on is missing or has a wrong type. */
export function readRequirements(value: unknown): PaymentRequirements | undefined {
  if (!isRecord(value)) return undefined
  const { scheme, network, amount, asset, payTo, maxTimeoutSeconds, extra } = value
  if (typeof scheme !== 'string' || typeof network !== 'string' || typeof payTo !== 'string') return undefined
  if (typeof asset !== 'string' || parseBaseUnits(amount) === undefined) return undefined
  if (typeof maxTimeoutSeconds !== 'number' || !(maxTimeoutSeconds > 0)) return undefined
  if (extra !== undefined && extra !== null && !isRecord(extra)) return undefined
  return value as unknown as PaymentRequirements
}

/**
 * Far above a group of sixteen transactions with programs, and below the 100 kB that common facilitators read: a larger payment
 * would be answered by their host instead of by them.
 */
export const PAYMENT_BOUNDS: JsonBounds = { values: 2_048, characters: 65_536 }

/**
 * The payment that a request presents.
 *
 * @param where what carried it, for the caller to read: a header, MCP's `_meta`, a message of A2A, a facilitator's body
 */
export function presentedPayment(value: unknown, where: string): Parsed<PaymentPayload> {
  if (value === undefined) return { kind: 'none' }
  if (!isRecord(value)) return { kind: 'malformed', why: `${where} is not an object` }
  return isWithin(value, PAYMENT_BOUNDS) ? { kind: 'read', value } : oversizedPayment(where)
}

export function oversizedPayment(where: string): Parsed<never> {
  const { values, characters } = PAYMENT_BOUNDS
  const why = `${where} is larger than a payment can be: ${values} values, and ${characters} characters of text`
  return { kind: 'malformed', why }
}

/** Something that a request may carry: absent, read by the transport, or malformed. */
export type Parsed<T> =
  | { readonly kind: 'none' }
  | { readonly kind: 'malformed'; readonly why: string }
  | { readonly kind: 'read'; readonly value: T }
