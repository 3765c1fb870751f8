/**
 * What a server answers where it has no answer: each code with its status and its words, which say what happened and what to do. Answers
 * say these words where they know nothing nearer to the case. `svc explain` says them too, and `npm run docs` makes docs/codes.md of them.
 */
interface AnswerCode {
  readonly code: string
  readonly status: number
  readonly words: string
}

/** A line a code, or several that share their words: `code code status words`. */
const read = (text: string): readonly AnswerCode[] =>
  [...text.matchAll(/^([a-z_ ]+) (\d+) (.+)$/gm)].flatMap(([, codes, status, words]) =>
    codes!.split(' ').map(code => ({ code, status: Number(status), words: words! })),
  )

export const ANSWER_CODES = {
  'Calls of a paid endpoint': read(`
payment_required 402 This call is paid for. The PAYMENT-REQUIRED header says what and how: pay that, and send the call again.
payment_refused 402 The payment was refused: it does not fit the quote, its group is not taken, or the facilitator refuses it. You were not charged; pay the quote of this answer.
payment_not_settled 402 The payment was not settled: the funds are gone, or it was not valid for long enough. You were not charged; a new payment may be tried.
invalid_text 400 The body is not UTF-8. You were not charged.
invalid_json 400 The body is not JSON, is nested deeper than 64 levels, or has a key __proto__ or a number that a double cannot hold, such as 1e999. You were not charged.
invalid_input 400 The input does not satisfy the endpoint’s schema. Nothing was charged by this request; correct the field and send it again.
invalid_idempotency_key 400 An Idempotency-Key is 1 to 255 visible ASCII characters. You were not charged.
invalid_payment_identifier 400 The id of the extension payment-identifier is 16 to 128 characters of A-Z, a-z, 0-9, _ and -. You were not charged.
idempotency_key_mismatch 400 The Idempotency-Key and the id of the extension payment-identifier differ; they are two places for one key. You were not charged.
idempotency_key_required 400 A paid call needs a key here: an Idempotency-Key, or an id in the extension payment-identifier. Send the same request again with one. You were not charged.
invalid_siwx_malformed_signature 400 SIGN-IN-WITH-X is refused: it is not base64 of a JSON object with the fields of a proof. You were not charged.
invalid_siwx_nonce 400 SIGN-IN-WITH-X is refused: its nonce is not 16 to 64 letters and digits. You were not charged.
invalid_siwx_domain_mismatch 400 SIGN-IN-WITH-X is refused: its domain is not the host that was called. Behind a proxy that changes the host, the seller sets publicUrl. You were not charged.
invalid_siwx_uri_mismatch 400 SIGN-IN-WITH-X is refused: its uri has another host than the URL that was called. Behind a proxy that changes the host, the seller sets publicUrl. You were not charged.
invalid_siwx_issued_at 400 SIGN-IN-WITH-X is refused: its issuedAt is no ISO 8601 time. You were not charged.
invalid_siwx_issued_at_too_old 400 SIGN-IN-WITH-X is refused: it is more than five minutes old. You were not charged.
invalid_siwx_issued_at_in_future 400 SIGN-IN-WITH-X is refused: its issuedAt is in the future. You were not charged.
invalid_siwx_expiration_time 400 SIGN-IN-WITH-X is refused: its expirationTime is no ISO 8601 time. You were not charged.
invalid_siwx_expired 400 SIGN-IN-WITH-X is refused: its expirationTime has passed. You were not charged.
invalid_siwx_not_before 400 SIGN-IN-WITH-X is refused: its notBefore is no ISO 8601 time. You were not charged.
invalid_siwx_not_yet_valid 400 SIGN-IN-WITH-X is refused: its notBefore is in the future. You were not charged.
invalid_siwx_request 400 SIGN-IN-WITH-X is refused: it is for another payment or another payer than the payment in this request. You were not charged.
invalid_siwx_signature 400 SIGN-IN-WITH-X is refused: the key that signed the payment did not sign it. You were not charged.
payment_and_balance 400 A payment and the key of a balance came together; send one of them. You were not charged.
invalid_max_charge 400 x-svc-max-charge is a whole number of base units, such as 3100. You were not charged.
idempotency_key_reuse 409 This Idempotency-Key was used with another query or body. Nothing was charged by this request; use a new key for a new request.
idempotency_in_progress 409 A call with this Idempotency-Key is in progress; it may charge its own payment, once. Send the same request again to get its answer.
payment_in_use 409 This very payment is being worked for by another call, which charges it at most once. Send the same request again after Retry-After seconds.
payment_spent 409 This very payment was already spent, or nothing proves that you are its payer. It is charged only once: look txId up on chain before you pay again, or send the same request with a proof or its random key.
answer_not_kept 409 An earlier call with this key or payment was charged, but its answer was not kept: it was too large, or its stream broke. It is not charged again: look txId up, or use a new key for a new call.
superseded 409 Another call took this key or payment over, and may charge it, once. Send the same request again to get its answer.
rate_limited 429 Too many calls of this payer or address. Nothing was charged by this request; try again after Retry-After seconds.
too_many_unpaid_calls 429 Too many calls of this payer are at work or were not paid. This call was not run and not charged; send the same request again after Retry-After seconds.
abandoned 499 The caller hung up before the settlement. Nothing was charged.
handler_error 500 The handler failed. You were not charged.
price_unavailable 500 The price of this call cannot be worked out. You were not charged. The seller corrects the price function, or gives the schema an example that it can price.
internal_error 500 Something broke on our side. You were not charged.
answer_not_written 500 The call has ended, and its answer has no form in this transport: outcome, charged and txId say how. If it was charged, look txId up before you pay again.
facilitator_unavailable 503 The facilitator does not answer. You were not charged; try again later.
node_unavailable 503 The seller’s Algorand node does not say whether a payment has landed. Nothing was charged by this request; try again, or use a random key of at least 32 characters.
store_unavailable 503 The store that guards against double charges does not answer, or is full. Nothing was charged by this request; try again.
charge_unknown 503 The handler answered, and it is not known whether its cost was taken from the balance. Send the same request again with the same Idempotency-Key: it is charged once. Do not pay for it by itself.
settlement_unknown 503 The payment of this call, or of an earlier one with this key, was submitted, and it is not known whether it landed. Do not pay again: look txId up, or send the same request again.
shutting_down 503 This server is shutting down. Nothing was charged by this request; try again elsewhere or later.
handler_timeout 504 The handler took too long. You were not charged.
settled 200 Paid now.
served 200 Paid by a window.
counted 200 Paid from a balance.
replayed 200 An answer that was kept from before.`),
  'Servers behind an endpoint': read(`
upstream_unreachable 502 The server behind this one does not answer. You were not charged; its seller starts it, and looks at /ready.
upstream_broken 502 The server behind this one broke its answer off, sent what is no HTTP or more than 16 KiB of headers, or did not say where the answer ends. You were not charged; its seller mends it, or sells it as a stream.
upstream_too_large 502 The server behind this one answered more than 16 MiB. You were not charged; its seller sets stream: true.
upstream_not_sold 502 The server behind this one answered with a redirect, 206, 304 or 402. You were not charged; its seller sets sellRedirects, or corrects that server.
invalid_query 400 The query has a # or more than 1000 fields, so its price could be for another. You were not charged.
websocket_not_sold 501 WebSockets are not sold here: send a request. You were not charged.`),
  'Requests that reach no endpoint': read(`
not_found 404 There is no such path here: case and slashes count. The manifest, /.well-known/svc.json, has them all.
invalid_path 400 The path can be read in two ways, or is another spelling of a path that has a price: write it as the manifest does. You were not charged; percent-encode all but letters, digits and -._~ once, with no %2F, ., .. or //.
method_not_allowed 405 The path takes other methods: see Allow. A payment that came with it was not looked at.
body_already_read 500 A parser in front of this app read the body. You were not charged; its seller mounts the app before the parser, or uses one that leaves the body.
body_too_large 413 The body is larger than maxBodyBytes, which is 1 MiB unless set.
unsupported_encoding 415 Send the body without a Content-Encoding; where an app reads what was priced, in UTF-8 and not as a form.
bad_request 400 This is no HTTP that the server can read.
incomplete_body 400 The body ended before it was complete.
request_timeout 408 The headers took longer than 10 seconds, or all of it longer than 30, unless set.
overloaded 503 Too many bodies of unpaid calls arrive at once. Nothing was charged by this request; send it again in some seconds. The seller raises advanced.maxUnpaidBodyBytes if memory allows.
headers_too_large 431 The headers have more than 16 KiB.
operations_forbidden 403 A page of another site, or a public name, may not read what is for operators. Use an address or an inner name; or the seller lists the name in operationsHosts.
audit_token_required 401 The audit page asks for its token, as the password.
audit_forbidden 403 The audit page answers this machine only, and no page of another site. The option audit: { token } opens it to whoever holds the token.
audit_busy 503 Too many are watching already.`),
  'A2A and MCP': read(`
message_too_large 400 Beside the input, the message holds more than 512 values or 32,768 characters. You were not charged; send fewer names, metadata, capabilities and icons.
task_has_payment 409 Another payment came first for this task, in data.txId. This one was not charged, and never will be for this task: send the first again for its answer, or begin a new task.
too_many_waiting_tasks 429 Too many tasks, of your address or of all, wait for their payment. Try later, or pay with PAYMENT-SIGNATURE; the seller raises advanced.tasks.max.
registry_not_configured 200 The agent has no registry.
registry_unavailable 200 The node of the agent’s registry does not answer.`),
  'The reference agent': read(`
url_refused 422 The URL is private, local or no web address. You were not charged; give a public URL.
out_of_reach 503 A node or indexer that the endpoint needs does not answer. You were not charged; try later.`),
} as const

export const CALL_CODES = ANSWER_CODES['Calls of a paid endpoint']

const BY_CODE = new Map(
  Object.values(ANSWER_CODES)
    .flat()
    .map(row => [row.code, row]),
)

/** @throws for a code that has no words. */
export function answerCode(code: string): AnswerCode {
  const row = BY_CODE.get(code)
  if (row === undefined) throw new Error(`answer-codes.ts has no words for ${code}`)
  return row
}

/** A refusal in the code's own words. @throws as `answerCode` */
export function problemOf(code: string) {
  return { code, message: answerCode(code).words }
}
