/**
 * How a reader of quotes checks one: `npm run --silent verify <oracle's address> < quote.json`. The exit code says
 * whether it is good.
 */
import { json } from 'node:stream/consumers'
import { type SignedQuote, verifyQuote } from './signed-quote.ts'

const [address = ''] = process.argv.slice(2)
const quote = (await json(process.stdin)) as SignedQuote
const verdict = verifyQuote(quote, address)
console.log(`${quote.pair} ${quote.price}: ${verdict}`)
process.exitCode = verdict === 'good' ? 0 : 1
