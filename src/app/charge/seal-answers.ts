/** What is stored of an answer: it is sealed, and for garbage collection it has a time. No time decides about money. */
import { type BinaryLike, createCipheriv, createDecipheriv, createHmac } from 'node:crypto'
import { bufferOf } from '../../domain/bytes.js'
import type { ReadPayment } from '../../ports/payment-reader.js'
import type { Random } from '../../ports/random.js'
import type { ReplayedAnswer } from './call-at-work.js'
import type { ChargeDeps } from './charge-deps.js'

const ALGORITHM = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16
const INFO = Buffer.from('svc stored answer\x01')

/**
 * AES-256-GCM under a key that is derived from the secret, bound to the claim's name. A reader of the store
 * who lacks the secret can read neither answers nor subscription keys. Layout: iv, tag, ciphertext.
 */
export function seal(kept: ReplayedAnswer, secret: string, claim: string, random: Random): Uint8Array {
  const { status, headers, cookies, body = '' } = kept.answer ?? {}
  const head = Buffer.from(JSON.stringify({ status, headers, cookies, ...kept, answer: undefined }), 'utf8')
  const length = Buffer.alloc(4)
  length.writeUInt32BE(head.length)
  const bytes = typeof body === 'string' ? Buffer.from(body, 'utf8') : body
  return sealBytes(Buffer.concat([length, head, bytes]), secret, claim, random)
}

/** Seals any bytes under a secret, bound to a name. */
export function sealBytes(plain: Buffer, secret: string, name: string, random: Random): Uint8Array {
  const iv = random.iv()
  const cipher = createCipheriv(ALGORITHM, sealingKey(secret, name), iv)
  // In this mode the last block adds nothing, so the first piece is all of the ciphertext.
  const sealed = cipher.update(plain)
  cipher.final()
  return Buffer.concat([iv, cipher.getAuthTag(), sealed])
}

/** @returns `undefined` where `seal` did not make the bytes under this name and one of these secrets */
export function unseal(
  sealed: Uint8Array,
  secrets: readonly string[],
  claim: string,
): ReplayedAnswer | undefined {
  for (const secret of secrets) {
    try {
      return answerIn(unsealBytes(sealed, secret, claim))
    } catch {
      // Another secret may have sealed it.
    }
  }
  return undefined
}

function answerIn(plain: Buffer): ReplayedAnswer {
  const headEnd = 4 + plain.readUInt32BE(0)
  const { status, headers, cookies, ...rest } = JSON.parse(plain.subarray(4, headEnd).toString('utf8'))
  const answer =
    status === undefined ? undefined : { status, headers, cookies, body: plain.subarray(headEnd) }
  return { answer, ...rest }
}

/** @throws Error where `sealBytes` did not make the bytes under this secret and name. */
export function unsealBytes(sealed: Uint8Array, secret: string, name: string): Buffer {
  const bytes = bufferOf(sealed)
  const decipher = createDecipheriv(ALGORITHM, sealingKey(secret, name), bytes.subarray(0, IV_BYTES))
  decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
  const plain = decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES))
  decipher.final()
  return plain
}

/** HKDF-SHA-256 (RFC 5869, section 2) with the claim's name as the salt, for one block of 32 bytes. `hkdfSync` takes thrice the time. */
function sealingKey(secret: string, claim: string): Buffer {
  return hmac(hmac(claim, secret), INFO)
}

const hmac = (key: BinaryLike, message: BinaryLike) => createHmac('sha256', key).update(message).digest()

/** Generous limits: slow rounds, and an hour for clocks and operators. */
const ROUND_SLOW_MS = 4_000
const SLACK_MS = 3_600_000
/** The widest window that Algorand allows, for payments whose rounds are not known. */
const ROUNDS_MAX = 1_000

/** Uses all rounds that the payment was signed for, not the rounds that are left: this needs no clock. */
export function landsWithinMs(read: ReadPayment | undefined): number {
  const rounds = read ? Number(read.lastValid - read.firstValid) : ROUNDS_MAX
  return Math.min(rounds, ROUNDS_MAX) * ROUND_SLOW_MS
}

/** How long the record of a payment is kept. */
export function paymentLifeMs(read: ReadPayment | undefined): number {
  return landsWithinMs(read) + SLACK_MS
}

/** The time for which an answer in doubt is kept where answers without a key are not. */
const IN_DOUBT_KEPT_MS = 120_000

/**
 * How long the answer of a call is kept, once its outcome is known: for its key, else for its payer. An answer that sold a window has the
 * window's key in it: under the seller's own seal it is kept until the window ends.
 */
export function retentionMs(
  { rules, clock }: Pick<ChargeDeps, 'rules' | 'clock'>,
  key: string | undefined,
  window: { readonly expiresAtMs: number } | undefined,
): number {
  const keptMs = key === undefined ? rules.keepAnswersMs || IN_DOUBT_KEPT_MS : rules.retentionMs
  const isSealed = rules.sealSecrets.length > 0 && window !== undefined
  return isSealed ? Math.max(keptMs, window.expiresAtMs - clock.now()) : keptMs
}
