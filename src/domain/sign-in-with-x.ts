/**
 * The proof of a payer: x402's extension `sign-in-with-x`, on Algorand. A payment that landed is public, so whoever asks for
 * the answer that it paid for signs a short text besides, with the key that signed the payment.
 *
 * The text names one payment (`requestId`), and no field may hold a control character: with a line break in a field, the text
 * of a proof for one seller would be the text of a proof for another.
 *
 * @see CAIP-122, and x402 v2, extension sign-in-with-x
 */
import { decodeHeader, isRecord } from './x402.js'

export const SIGN_IN_WITH_X = 'sign-in-with-x'
/** The request header: base64 of the JSON object {@link PayerProof}. */
export const SIGN_IN_WITH_X_HEADER = 'SIGN-IN-WITH-X'

/** What the payer signs, and the signature. All fields are text; other fields are refused. */
export interface PayerProof {
  /** The host, with its port, that is called. */
  readonly domain: string
  /** The payer, 58 characters. */
  readonly address: string
  /** The URL that is called. */
  readonly uri: string
  readonly version: '1'
  /** The network's CAIP-2 id, in either spelling. */
  readonly chainId: string
  readonly type: 'ed25519'
  /** The payer's own, 16 to 64 letters and digits. */
  readonly nonce: string
  /** ISO 8601. A proof is accepted for five minutes from then on. */
  readonly issuedAt: string
  readonly expirationTime?: string
  readonly notBefore?: string
  /** The transaction id of the payment in the same request. */
  readonly requestId: string
  /** Base64 of 64 bytes: ed25519 over {@link proofBytes}. */
  readonly signature: string
}

export type UnsignedProof = Omit<PayerProof, 'signature'>

/** Why a proof is refused: a code of `answer-codes.ts`. */
export type ProofRefusal = `invalid_siwx_${string}`

const AGE_MAX_MS = 300_000
/** Clocks differ. */
const FUTURE_MAX_MS = 60_000
const REQUIRED = [
  'domain',
  'address',
  'uri',
  'version',
  'chainId',
  'type',
  'nonce',
  'issuedAt',
  'requestId',
  'signature',
]
const FIELDS: ReadonlySet<string> = new Set([...REQUIRED, 'expirationTime', 'notBefore'])
const FIELD_LENGTH_MAX = 2_048
const TEXT_LENGTH_MAX = 8_192
/** CAIP-2, of any chain but ours. */
const OTHER_CHAIN = /^(?!algorand:)[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$/
const NONCE = /^[A-Za-z0-9]{16,64}$/
const SIGNATURE = /^[A-Za-z0-9+/]{86}==$/

const utf8 = new TextEncoder()

/** The bytes under the signature: "MX", which no transaction begins with, and the text. */
export function proofBytes(proof: UnsignedProof): Uint8Array {
  return utf8.encode(`MX${proofText(proof)}`)
}

function proofText(proof: UnsignedProof): string {
  const { domain, address, uri, version, chainId, nonce, issuedAt, expirationTime, notBefore } = proof
  return [
    `${domain} wants you to sign in with your Algorand account:`,
    address,
    '',
    `URI: ${uri}`,
    `Version: ${version}`,
    `Chain ID: ${chainId.slice(chainId.indexOf(':') + 1)}`,
    `Nonce: ${nonce}`,
    `Issued At: ${issuedAt}`,
    ...(expirationTime === undefined ? [] : [`Expiration Time: ${expirationTime}`]),
    ...(notBefore === undefined ? [] : [`Not Before: ${notBefore}`]),
    `Request ID: ${proof.requestId}`,
  ].join('\n')
}

/** The proof in a header's text, or in a message's metadata: base64 of a JSON object with the fields of a proof, and no others. */
export function readProof(text: unknown) {
  if (text === undefined) return { kind: 'none' } as const
  const proof = typeof text === 'string' && text.length <= TEXT_LENGTH_MAX ? decodeHeader(text) : undefined
  // A client may carry a proof for another seller's chain, in that chain's fields.
  if (isRecord(proof) && typeof proof.chainId === 'string' && OTHER_CHAIN.test(proof.chainId))
    return { kind: 'none' } as const
  if (!isRecord(proof) || !hasPlainFields(proof)) return { kind: 'malformed', why: 'no proof' } as const
  return { kind: 'read', value: proof as unknown as PayerProof } as const
}

function hasPlainFields(proof: Record<string, unknown>): boolean {
  return (
    REQUIRED.every(name => Object.hasOwn(proof, name)) &&
    Object.entries(proof).every(([name, value]) => FIELDS.has(name) && isPlainText(value)) &&
    proof.version === '1' &&
    proof.type === 'ed25519'
  )
}

function isPlainText(value: unknown): boolean {
  if (typeof value !== 'string' || value.length > FIELD_LENGTH_MAX) return false
  for (let at = 0; at < value.length; at++) if (value.charCodeAt(at) < 0x20) return false
  return true
}

/** What a proof is compared with. */
export interface ProofExpected {
  /** The URL under which the seller is asked. Its host counts. */
  readonly origin: string
  readonly nowMs: number
  /** Of the payment in the same request; `undefined` where there is none that can be read. */
  readonly payment: { readonly txId: string; readonly payer: string } | undefined
}

/**
 * All checks but the signature's: why the proof is refused, or nothing. The caller has checked the chain.
 *
 * @example checkProof(proof, { origin: 'https://agent.example', nowMs: Date.now(), payment: { txId, payer } })
 */
export function checkProof(proof: PayerProof, expected: ProofExpected): ProofRefusal | undefined {
  const { origin, payment } = expected
  const host = hostOf(origin)
  if (host === undefined || proof.domain !== host) return 'invalid_siwx_domain_mismatch'
  // Not the scheme: a server behind a proxy may not know that its caller uses https.
  if (hostOf(proof.uri) !== host) return 'invalid_siwx_uri_mismatch'
  const untimely = timeRefusal(proof, expected.nowMs)
  if (untimely !== undefined) return untimely
  if (!NONCE.test(proof.nonce)) return 'invalid_siwx_nonce'
  if (!SIGNATURE.test(proof.signature)) return 'invalid_siwx_malformed_signature'
  if (proof.requestId !== payment?.txId || proof.address !== payment.payer) return 'invalid_siwx_request'
  return undefined
}

function timeRefusal({ issuedAt, expirationTime, notBefore }: PayerProof, nowMs: number) {
  const issuedMs = timeOf(issuedAt)
  if (Number.isNaN(issuedMs)) return 'invalid_siwx_issued_at'
  if (nowMs - issuedMs > AGE_MAX_MS) return 'invalid_siwx_issued_at_too_old'
  if (issuedMs - nowMs > FUTURE_MAX_MS) return 'invalid_siwx_issued_at_in_future'
  if (expirationTime !== undefined) {
    const endsMs = timeOf(expirationTime)
    if (Number.isNaN(endsMs)) return 'invalid_siwx_expiration_time'
    if (endsMs <= nowMs) return 'invalid_siwx_expired'
  }
  if (notBefore !== undefined) {
    const beginsMs = timeOf(notBefore)
    if (Number.isNaN(beginsMs)) return 'invalid_siwx_not_before'
    if (beginsMs - nowMs > FUTURE_MAX_MS) return 'invalid_siwx_not_yet_valid'
  }
  return undefined
}

/** `Date.parse` reads much that is not ISO 8601, each engine its own. */
function timeOf(text: string): number {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/.test(text)
    ? Date.parse(text)
    : Number.NaN
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined
}

/**
 * What a 402 declares. The challenge is cached for each base URL, so its nonce and time are examples: a proof has the payer's
 * own.
 */
export function declaredSignIn(baseUrl: string, chainIds: readonly string[]) {
  return {
    info: {
      domain: hostOf(baseUrl) ?? '',
      uri: baseUrl,
      version: '1',
      nonce: '0000000000000000',
      issuedAt: '1970-01-01T00:00:00Z',
    },
    supportedChains: chainIds.map(chainId => ({ chainId, type: 'ed25519' })),
    schema: { type: 'object', required: REQUIRED },
  }
}
