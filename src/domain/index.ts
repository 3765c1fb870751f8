/**
 * The domain as programs around the core use it: what people type and strangers send, read and shown. The core imports the files
 * themselves.
 */

// Failures that users are told of
export { ANSWER_CODES } from './answer-codes.js'
// What a body says that it is, and bytes as text
export { isJson, textIn } from './body-type.js'
export { toBase64 } from './bytes.js'
export { SvcError } from './errors.js'
// An input that an endpoint accepts, by its schema
export { examplesOf } from './example-input.js'
// JSON and other texts of strangers
export { deeperThan, jsonIn } from './json.js'
// Money
export { formatUsd } from './money.js'
// Networks, by name, by definition and by the ids of quotes
export {
  isPublicNetwork,
  MAINNET,
  type Network,
  type NetworkDefinition,
  type NetworkFacts,
  type NetworkKey,
  networkOf,
  PUBLIC_NETWORKS,
  TESTNET,
} from './network.js'
export { networkFacts, nodeUrls } from './network-definition.js'
// What somebody meant who misspelt a name
export { nearest } from './option-checks.js'
// The methods of endpoints
export { METHODS } from './path-pattern.js'
export { windowShown } from './period.js'
// Offers of strangers
export { priceOf, quotedNetworks } from './price-for-display.js'
export { primitiveText, shellWord } from './untrusted-text.js'
export { isRecord, recordAt } from './x402.js'
