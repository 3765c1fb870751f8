/** A facilitator of one's own: settles payments over one's own node, and pays their fees. @packageDocumentation */

export { createFacilitator } from './facilitator/create-facilitator.js'
export { type FacilitatorAppOptions, facilitatorApp } from './facilitator/facilitator-app.js'
export type { FacilitatorOptions } from './facilitator/facilitator-options.js'
export type {
  Asker,
  CheckedCondition,
  FacilitatorCondition,
  ProtocolFacilitator,
  SettleAnswer,
  SupportedAnswer,
  VerifyAnswer,
} from './ports/facilitator.js'
