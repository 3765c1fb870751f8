/** What each step and each end of a call means, in words: a state's question and the answers to it, one state a line; then the ends. */
const SENTENCES = `
received|The request|admitted:taken in|draining:refused, the server stops|limited:refused, too many from this caller
opening|Its key and its payment|opened:free, and held for this call|unusableKey:the key cannot be used here|replayable:answered before, the same answer is sent again|notKept:answered before, and the answer was not kept|inProgress:another call with this key is at work|reused:the key belongs to another request|orphaned:an earlier call stopped while settling|inUse:another call holds this payment|spent:this payment paid for an earlier call
recovering|The earlier call|found:its payment landed, its answer is sent|notKept:its payment landed, its answer was not kept|absent:its payment never landed|spent:its payment landed|moved:another call took it over|undecided:nobody knows yet whether its payment landed
validating|The input|valid:fits the schema|probe:none, this asks for the price|invalid:does not fit the schema
entitling|A window or a balance|covered:covers the call|uncovered:none came with it|unpriceable:its price cannot be told|exhausted:not enough is left
pricing|The price|unpaid:no payment came, it is quoted|presented:a payment came|malformed:the payment cannot be read|mismatched:the payment is for something else|unpriceable:it cannot be told
verifying|The facilitator, asked about the payment|verified:it is good|refused:it is refused|expiring:it ends too soon|spent:it landed before|limited:too many from this payer|unreachable:no answer
crediting|Earlier runs of this payer|credited:few enough are not settled|exhausted:too many are not settled
delivering|The handler|delivered:answered|expired:had no time, the payment ends too soon|failed:failed|timedOut:took too long
recording|The answer, written down before money moves|recorded:done|superseded:another call took over|expired:the payment ended too soon
settling|The payment|settled:landed, the answer is sent|refused:refused, and never submitted|elsewhere:another server submitted it|unknown:nobody knows yet whether it landed
reconciling|The payment, settled again and looked up on the chain|found:landed, the answer is sent|absent:never landed|unknown:still unknown
releasing|The payment, given back|released:done|superseded:another call took over
yielding|The payment, left to the other server|released:done|superseded:another call took over
serving|The handler, on a window or a balance|delivered:answered|measured:answered, and said what it costs|failed:failed|timedOut:took too long
counting|The balance|counted:the call is counted|superseded:another call took over|abandoned:the caller hung up|unknown:the store has not said
`
const EVERYWHERE =
  'abandoned:the caller hung up|stopped:the server stops|storeDown:the store did not answer|broke:an error of this server'

const ENDS = `
settled:answered and charged|served:answered on a window|counted:answered on a balance|replayed:answered again, paid before|answerNotKept:paid before, the answer was not kept
inDoubt:payment is not certain yet|uncounted:charge on the balance is not certain|undecided:earlier payment is not certain yet
quoted:price quoted|refused:payment refused|unsettled:payment did not settle|invalid:input refused|inProgress:the same key is at work|keyReused:the key belongs to another request
paymentInUse:payment is in use|paymentSpent:payment was spent before|superseded:another call took over|limited:too many calls|tooManyUnpaid:too many calls are not settled|abandoned:caller hung up
failed:handler failed|timedOut:handler took too long|unpriced:price cannot be told|broken:error of this server|unavailable:facilitator or store did not answer|shuttingDown:server was stopping
`

const words = new Map<string, string>()
for (const end of ENDS.trim().split(/[|\n]/)) {
  const [final, found] = end.split(':')
  words.set(final!, found!)
}
for (const line of SENTENCES.trim().split('\n')) {
  const [state, question, ...answers] = line.split('|')
  words.set(state!, question!)
  for (const answer of [...EVERYWHERE.split('|'), ...answers]) {
    const [event, found] = answer.split(':')
    words.set(`${state}.${event}`, `${question}: ${found}.`)
  }
}

/** Of a step, a state or an end. The name itself, where this page does not know it. */
export function wordsOf(name: string): string {
  return words.get(name) ?? name
}
