import type { modelsv2, SignedTransaction } from 'algosdk'
import { type Evaluation, usageOf } from '../apply-group.js'
import type { Ledger } from '../ledger.js'
import type { Reply, SandboxRequest } from '../serve-http.js'
import { formatIn, formatted, refused, type View } from './replies.js'
import { simulateRequest } from './transaction-routes.js'

const OPCODE_BUDGET_MAX = 320_000
const LOGGING = { 'max-log-calls': 2_048, 'max-log-size': 65_536 }

export function simulate(ledger: Ledger, { body, query }: SandboxRequest): Reply {
  formatIn(query)
  const request = simulateRequest(body)
  const { txnGroups, allowEmptySignatures, fixSigners } = request
  if (txnGroups.length !== 1) throw refused(`expected 1 transaction group, got ${txnGroups.length}`)
  checkRound(ledger, request)
  if (fixSigners && !allowEmptySignatures)
    throw refused('FixSigners requires AllowEmptySignatures to be enabled')
  const group = txnGroups[0]!.txns
  const evaluation = ledger.evaluate(group, { allowEmptySignatures, fixSigners })
  const { refusal } = evaluation
  if (refusal?.stage === 'request') throw refused(refusal.message)
  if (refusal?.stage === 'unemulated') throw refused(refusal.message, 501)
  // A node looks at the budget after it has seen signatures.
  if (refusal?.stage !== 'form') checkBudget(request)
  return formatted(query, view => ({
    version: 2,
    'last-round': ledger.rounds.current(),
    'eval-overrides': overrides(request),
    'exec-trace-config': traceOf(request),
    'txn-groups': [groupResult(group, evaluation, view)],
  }))
}

function groupResult(
  group: readonly SignedTransaction[],
  { refusal, members }: Evaluation,
  view: View,
): object {
  const paid = group.reduce((sum, { txn }) => sum + txn.fee, 0n)
  return {
    'failure-message': refusal?.message,
    'failed-at': refusal?.at === undefined ? undefined : [refusal.at],
    'group-fees-paid': paid || undefined,
    'group-usage': group.reduce((sum, { txn }) => sum + usageOf(txn), 0n),
    'txn-results': group.map((signed, at) => ({
      'fees-paid': signed.txn.fee || undefined,
      'fixed-signer': members[at]!.fixedSigner,
      'txn-result': {
        'pool-error': '',
        txn: view.signed(signed),
        'closing-amount': members[at]!.closing || undefined,
        'asset-closing-amount': members[at]!.assetClosing || undefined,
      },
    })),
  }
}

function overrides(request: modelsv2.SimulateRequest): object | undefined {
  return filled({
    'allow-empty-signatures': request.allowEmptySignatures,
    'allow-unnamed-resources': request.allowUnnamedResources,
    'extra-opcode-budget': request.extraOpcodeBudget,
    'fix-signers': request.fixSigners,
    ...(request.allowMoreLogging && LOGGING),
  })
}

function traceOf({ execTraceConfig }: modelsv2.SimulateRequest): object | undefined {
  return execTraceConfig && filled(Object.fromEntries(execTraceConfig.toEncodingData()))
}

/** Without zero values, which a node leaves out. */
function filled(fields: object): object | undefined {
  const there = Object.entries(fields).filter(([, value]) => value)
  return there.length > 0 ? Object.fromEntries(there) : undefined
}

function checkBudget({ extraOpcodeBudget = 0 }: modelsv2.SimulateRequest): void {
  if (extraOpcodeBudget > OPCODE_BUDGET_MAX)
    throw refused(`extra budget ${extraOpcodeBudget} > simulation extra budget limit ${OPCODE_BUDGET_MAX}`)
}

/** The sandbox keeps no balances of the past. */
function checkRound({ rounds }: Ledger, { round }: modelsv2.SimulateRequest): void {
  const last = rounds.current()
  if (!round || round === last) return
  if (round > last) throw refused(`ledger does not have entry ${round} (latest ${last})`, 500)
  throw refused('not emulated: the sandbox simulates in the last round only', 501)
}
