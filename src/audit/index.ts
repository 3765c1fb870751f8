/** What the command line prints of a seller's records: its books, and the machines that its calls walked. */

export type { CallEndedMessage, HandlerFailedMessage } from '../app/charge/tell-observers.js'
// The journals, held against the chain
export { type Books, DAY_COLUMNS, dayRow, openBooks, PAYMENT_COLUMNS, paymentRow } from './audit-journals.js'
// The five machines that run: drawn, with their paths and what is proved of them
export { type Drawn, MACHINES, mermaid, stately } from './proofs/all-machines.js'
export { allPathsOf, holds, type MachinePath, type Proof } from './proofs/check-machine-properties.js'
export { type Difference, FINDINGS } from './reconciliation/audit-findings.js'
export { sumsOfBalances } from './reconciliation/balance-accounts.js'
export { OWED_REASONS, type OwedRefund, type OwedReport } from './reconciliation/owed-refunds.js'
export type { ReconciliationReport } from './reconciliation/reconciliation-report.js'
