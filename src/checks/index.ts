/**
 * Three questions around a payment, asked without one: is it payable, can this address be paid, did this land. `svc doctor` and
 * `svc tx` ask them, and the reference agent sells the answers.
 */

// What an index says
export { mentions } from '../bazaar/read-index-page.js'
// Can this address be paid
// Can an agent be paid: its address, facilitator and node
export { optInCheck, payToCheck, sellingChecks } from './can-agent-be-paid.js'
// Did it land
export { amountOf, lookUp, type Sighting, whyNoPayment } from './did-transaction-land.js'
// What a check found, and what to do about it
export { type Finding, failed, judged, ok, quoted, skipped } from './finding.js'
// Can an agent be found: from outside, as an index looks at it
export { listingChecks } from './is-agent-listed.js'
// Is a quote payable
export {
  judgedQuote,
  NOT_IN_USDC,
  quoteIn,
  reachProblems,
  type UsdcTerms,
} from './is-quote-payable.js'
