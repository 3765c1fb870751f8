/** What can come back from a facilitator that is no verdict, each as a server sends it. */
import {
  hang,
  json,
  type Reply,
  reset,
  stall,
  status,
  text,
  truncate,
} from '../../support/fake-facilitator.js'

const YES = JSON.stringify({ isValid: true, success: true, transaction: 'TX' })
const NO = JSON.stringify({
  isValid: false,
  invalidReason: 'x',
  success: false,
  transaction: '',
  errorReason: 'x',
})

export const FAULTS: readonly (readonly [string, Reply])[] = [
  ['500', status(500)],
  ['503 with a yes in it', text(YES, 503)],
  ['500 with a no in it', text(NO, 500)],
  ['429 with a no in it', text(NO, 429)],
  ['408 with a no in it', text(NO, 408)],
  ['201 with a yes in it', text(YES, 201)],
  ['202 with a no in it', text(NO, 202)],
  ['404 with a yes in it', text(YES, 404)],
  ['404 as HTML', text('<h1>not found</h1>', 404, 'text/html')],
  ['a reset', reset],
  ['silence', hang],
  ['half an answer, then silence', stall],
  ['a yes cut short', truncate(YES)],
  ['a no cut short', truncate(NO)],
  ['truncated JSON', text(YES.slice(0, -1))],
  ['two documents', text(YES + YES)],
  ['nothing', text('')],
  ['HTML', text('<html>isValid: true</html>', 200, 'text/html')],
  ['a list of a yes', text(`[${YES}]`)],
  ['true', json(true)],
  ['null', json(null)],
  ['a string', json(YES)],
  ['other content', json({ ok: true })],
  ['an inherited yes', text(`{"__proto__":${YES}}`)],
  ['isValid and success as strings', json({ isValid: 'true', success: 'true', transaction: 'TX' })],
  ['isValid and success as numbers', json({ isValid: 1, success: 1, transaction: 'TX' })],
  ['isValid and success as zero', json({ isValid: 0, success: 0, transaction: '', errorReason: 'x' })],
  ['isValid and success as null', json({ isValid: null, success: null, transaction: '', errorReason: 'x' })],
  ['a yes in 65 KiB', text(YES + ' '.repeat(65 * 1024))],
  ['deep nesting', text('['.repeat(60_000))],
]
