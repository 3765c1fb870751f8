/**
 * x402 version 2 on the wire: the challenge, the payment, the receipt, and the base64 JSON that carries them in headers.
 * Everything that arrives is `unknown` until one of the readers here has looked at it.
 */
import { textFromBase64, textToBase64 } from './base64.js'
import { parseBaseUnits } from './money.js'
import { networkOf } from './network.js'

export const X402_VERSION = 2
export const PAYMENT_REQUIRED_HEADER = 'PAYMENT-REQUIRED'
export const PAYMENT_SIGNATURE_HEADER = 'PAYMENT-SIGNATURE'
export const PAYMENT_RESPONSE_HEADER = 'PAYMENT-RESPONSE'
/** The name that version 1 gave the payment header; still accepted. */
export const LEGACY_PAYMENT_HEADER = 'X-PAYMENT'

/** One way to pay, as a quote offers it. Numbers that are money are strings of digits. */
export interface PaymentRequirements {
  /** How it is paid; `exact` here. */
  readonly scheme: string
  /** CAIP-2 id. */
  readonly network: string
  /** Base units of the asset. */
  readonly amount: string
  /** The asset's id; USDC's is in {@link USDC_ASSET_ID}. */
  readonly asset: string
  /** The address that is paid. */
  readonly payTo: string
  /** How long a payment may take to settle, in seconds. */
  readonly maxTimeoutSeconds: number
  /** What the scheme adds, such as who pays the network's fee. */
  readonly extra: Readonly<Record<string, unknown>>
}

/** What is paid for. */
export interface ResourceInfo {
  /** Where it is called, as its seller sees it. */
  readonly url: string
  /** What it does. */
  readonly description?: string
  /** Of its answer. */
  readonly mimeType?: string
}

/** What a 402 says (the decoded `PAYMENT-REQUIRED` header). */
export interface PaymentRequired {
  /** 2. */
  readonly x402Version: number
  /** Why there is no answer, for people. */
  readonly error?: string
  /** What is paid for. */
  readonly resource: ResourceInfo
  /** The ways to pay, any one of which will do. */
  readonly accepts: readonly PaymentRequirements[]
  /** What extensions of the protocol add. */
  readonly extensions?: Readonly<Record<string, unknown>>
}

/** What a payer sends. All but the two versions is the payer's word; only what a check has read may be relied on. */
export interface PaymentPayload {
  readonly x402Version?: unknown
  readonly payload?: unknown
  readonly accepted?: unknown
  readonly resource?: unknown
  readonly extensions?: unknown
}

/** The decoded `PAYMENT-RESPONSE` header: the official receipt's fields and this specification's, side by side. */
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

/** The JSON object in a header; `undefined` where it is not standard base64 of one. */
export function decodeHeader(text: string): Record<string, unknown> | undefined {
  if (!BASE64.test(text)) return undefined
  try {
    const value: unknown = JSON.parse(textFromBase64(text))
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

/**
 * As `decodeHeader`, and of base64url as well, which some sellers write. For readers of answers only: a payment header is standard
 * base64 to every server of x402, so a lenient one would take what a proxy or a second server of the same seller refuses.
 */
export function decodeAnswerHeader(text: string): Record<string, unknown> | undefined {
  return decodeHeader(text.replaceAll('-', '+').replaceAll('_', '/'))
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether an `accepted` speaks of the same payment as our requirements; both forms of a network's id are one network. */
export function sameTerms(accepted: Record<string, unknown>, requirements: PaymentRequirements): boolean {
  const network = networkOf(accepted.network)
  return (
    accepted.scheme === requirements.scheme &&
    network !== undefined &&
    network === networkOf(requirements.network) &&
    accepted.amount === requirements.amount &&
    accepted.asset === requirements.asset &&
    accepted.payTo === requirements.payTo
  )
}

/** Reads one entry of `accepts`; `undefined` where a field that a payer must rely on is missing or of a wrong type. */
export function readRequirements(value: unknown): PaymentRequirements | undefined {
  if (!isRecord(value)) return undefined
  const { scheme, network, amount, asset, payTo, maxTimeoutSeconds, extra } = value
  if (typeof scheme !== 'string' || typeof network !== 'string' || typeof payTo !== 'string') return undefined
  if (typeof asset !== 'string' || parseBaseUnits(amount) === undefined) return undefined
  if (typeof maxTimeoutSeconds !== 'number' || !(maxTimeoutSeconds > 0)) return undefined
  if (extra !== undefined && extra !== null && !isRecord(extra)) return undefined
  return value as unknown as PaymentRequirements
}
