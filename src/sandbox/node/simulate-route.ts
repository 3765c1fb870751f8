/** A simulation: what a group would do now, with the options of the request. */
import type { SignedTransaction } from 'algosdk'
import { type Evaluation, usageOf } from '../group-evaluation.js'
import type { Ledger } from '../ledger.js'
import type { Reply, SandboxRequest } from '../web-server.js'
import { simulateRequest } from './decode-groups.js'
import type { Fields } from './read-shape.js'
import { formatIn, formatted, refused, type View } from './replies.js'

const OPCODE_BUDGET_MAX = 320_000n
const LOGGING = { 'max-log-calls': 2_048, 'max-log-size': 65_536 }

export function simulate(ledger: Ledger, { body, query }: SandboxRequest): Reply {
  formatIn(query)
  const { groups, options } = simulateRequest(body)
  if (groups.length !== 1) throw refused(`expected 1 transaction group, got ${groups.length}`)
  checkRound(ledger, options)
  const isUnsigned = options['allow-empty-signatures'] === true
  const fixSigners = options['fix-signers'] === true
  if (fixSigners && !isUnsigned) throw refused('FixSigners requires AllowEmptySignatures to be enabled')
  const group = groups[0]!
  const evaluation = ledger.evaluate(group, { allowEmptySignatures: isUnsigned, fixSigners })
  const { refusal } = evaluation
  if (refusal?.stage === 'request') throw refused(refusal.message)
  if (refusal?.stage === 'unemulated') throw refused(refusal.message, 501)
  // A node looks at the budget after it has seen signatures.
  if (refusal?.stage !== 'form') checkBudget(options)
  return formatted(query, view => ({
    version: 2,
    'last-round': ledger.rounds.current(),
    'eval-overrides': overrides(options),
    'exec-trace-config': options['exec-trace-config'],
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

function overrides(options: Fields): object | undefined {
  const { 'allow-empty-signatures': unsigned, 'allow-unnamed-resources': unnamed } = options
  const { 'fix-signers': fix, 'extra-opcode-budget': budget, 'allow-more-logging': logging } = options
  const given = {
    'allow-empty-signatures': unsigned,
    'allow-unnamed-resources': unnamed,
    'extra-opcode-budget': budget,
    'fix-signers': fix,
    ...(logging === true && LOGGING),
  }
  return Object.values(given).some(each => each !== undefined) ? given : undefined
}

function checkBudget({ 'extra-opcode-budget': budget }: Fields): void {
  if (typeof budget === 'bigint' && budget > OPCODE_BUDGET_MAX) {
    throw refused(`extra budget ${budget} > simulation extra budget limit ${OPCODE_BUDGET_MAX}`)
  }
}

/** The sandbox keeps no balances of the past. */
function checkRound({ rounds }: Ledger, { round }: Fields): void {
  const last = rounds.current()
  if (typeof round !== 'bigint' || round === last) return
  if (round > last) throw refused(`ledger does not have entry ${round} (latest ${last})`, 500)
  throw refused('not emulated: the sandbox simulates in the last round only', 501)
}
