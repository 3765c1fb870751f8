/** It loads no keys and no HTTP client: the command line reads it at every start. */

// A received answer, or why there is none
export { causeOf, mediaTypeOf } from './http-reply.js'
// Events of a stream
export { eventsIn, messagesIn } from './read-streamed-answer.js'
// What was paid, in the same words everywhere
export { endLines, failedAfter, isAfterPayment, type PaymentEnd, type ShownWindow } from './receipt-book.js'
export { outcomeOfResult } from './result-types.js'
