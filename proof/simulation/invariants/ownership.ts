/** Whose is it: what is kept opens for nobody but its owner, and what strangers ask leaves nothing behind. */
import { decodeAnswerHeader } from '../../../src/simulation-parts.js'
import { RANDOM_KEY_LENGTH_MIN } from '../caps.js'
import { EPOCH_MS } from '../kernel/process.js'
import { type Asking, headerOf, type Truth } from '../world/truth.js'
import type { WireReply } from '../world/wire.js'
import type { World } from '../world/world.js'

/** A proof may be as old, by the seller's clock. */
const PROOF_MS_MAX = 5 * 60_000
/** From when it was made until the seller reads it. */
const ON_ITS_WAY_MS = 120_000

/** Of a replay: who asked has named a random key, proved to be the payer, or is where the call in doubt came from. */
export function checkOwner(world: World, asking: Asking, reply: WireReply): void {
  const { truth } = world
  const { key, payment, window, request, act, address } = asking
  if (reply.status >= 400 || headerOf(reply, 'idempotency-replayed') !== 'true') return
  const receipt = decodeAnswerHeader(headerOf(reply, 'payment-response') ?? '')
  const txId = receipt?.transaction
  // A window's own calls, a task, and a payment of this payer that had not landed when it was presented, under the same key.
  if (
    window !== undefined ||
    asking.balance !== undefined ||
    request.body?.includes('"taskId"') ||
    payment?.txId !== txId
  )
    return
  if (key !== undefined && key.length >= RANDOM_KEY_LENGTH_MIN) return
  const proof = request.headers['sign-in-with-x']
  const opens = proof === undefined ? 'nothing' : opensBy(world, asking, proof)
  if (opens === 'everything') return
  const isSold = ['x-svc-subscription', 'x-svc-balance-key'].some(name => headerOf(reply, name) !== undefined)
  if (isSold)
    truth.violated('kept-for-its-owner', `${act} got the window or balance of ${txId} from its address alone`)
  else if (!isFromThere(truth, asking))
    truth.violated('kept-for-its-owner', `${act} got the answer of ${txId} at ${address}, without proof`)
}

function opensBy({ conditions }: World, { payment, atMs }: Asking, proof: string): 'everything' | 'nothing' {
  const { requestId, address, issuedAt } = JSON.parse(Buffer.from(proof, 'base64').toString('utf8'))
  if (requestId !== payment!.txId || address !== payment!.payer) return 'nothing'
  const ageMs = atMs - (Date.parse(issuedAt) - EPOCH_MS)
  const isOld = conditions.skewMs === 0 && ageMs > PROOF_MS_MAX + ON_ITS_WAY_MS
  return isOld ? 'nothing' : 'everything'
}

/** Whether somebody presented this payment from the same address before it was answered: the first to be sent may come last. */
function isFromThere({ askings }: Truth, asking: Asking): boolean {
  return askings.some(
    other =>
      other !== asking && other.payment?.txId === asking.payment!.txId && other.address === asking.address,
  )
}

/** Of an answer with its head, whatever was sent. */
const UNPAID_BYTES_MAX = 65_536

export function checkSize(
  { truth, ledger }: World,
  asking: Asking,
  { status, headers, body }: WireReply,
): void {
  const { act, endpoint, payment } = asking
  if (status < 400 || (payment && ledger.landed(payment.txId))) return
  const bytes = headers.flat().reduce((sum, text) => sum + text.length, body.length)
  if (bytes > UNPAID_BYTES_MAX)
    truth.violated('strangers-cost-bounded', `${act} got ${bytes} bytes of ${endpoint} for nothing`)
}

/** A call with neither a payment nor a window's key has opened nothing in the store. */
export function nothingWritten({ truth }: World): void {
  for (const { token, hasPayment } of truth.opened) {
    if (hasPayment) continue
    const call = truth.calls.find(({ id }) => id === token)
    if (call && !SELLS_WINDOWS.test(call.endpoint) && call.final === 'quoted')
      truth.violated(
        'strangers-leave-nothing',
        `${token} opened something at ${call.endpoint}, and was quoted`,
      )
  }
}

const SELLS_WINDOWS = /feed|vault|balance/
