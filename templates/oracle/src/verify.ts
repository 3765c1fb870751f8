/**
 * How a reader of quotes checks one: `npm run --silent verify <oracle's address> < quote.json`. The exit code says
 * whether it is good.
 */
import { json } from 'node:stream/consumers'
import { type SignedQuote, verifyQuote } from './signed-quote.ts'

const [address = ''] = process.argv.slice(2)
const quote = (await json(process.stdin).catch(() => null)) as SignedQuote | null
const verdict = quote?.signature ? verifyQuote(quote, address) : 'no quote'
console.log(quote?.signature ? `${quote.pair} ${quote.price}: ${verdict}` : verdict)
process.exitCode = verdict === 'good' ? 0 : 1
