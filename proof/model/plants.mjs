/**
 * Faults to find, each put into a copy of the decision on its way into the bundle: nothing in the product can switch one on. An edit
 * whose text is not there once and once only stops the run.
 */

/** @typedef {{ file: string, find: string, replace: string }} Edit */
/** @typedef {{ name: string, says: string, edits: readonly Edit[], in: string }} Plant The case that finds it. */

const DECISION = 'src/domain/charge-store/transition.ts'
const CLOSING = 'src/domain/charge-store/transition.ts'
const RECORDS = 'src/domain/charge-store/records.ts'

const ONE_PAYMENT = 'one key, one payment, release'
const TWO_PAYMENTS = 'one key, two payments, release'
const TWO_KEYS = 'two keys, one payment, release'
const OTHER_BODY = 'one key, one payment, two bodies, release'
const STRANGER = 'no key, and a stranger sends the bytes again'
const OF_THREE = 'one key, two payments, and one of them without it, release'
const WITH_AND_WITHOUT = 'one payment, with a key and without, release'

export const plant = (name, says, file, find, replace, where = ONE_PAYMENT) => ({
  ...{ name, says, in: where },
  edits: [{ file, find, replace }],
})

/** @type {readonly Plant[]} */
export const PLANTS = [
  plant(
    'open-takes-half',
    'An open takes the key and not the payment.',
    DECISION,
    'move.payment ? holdPayment(payment, move, nowMs) : undefined',
    'undefined',
  ),
  plant(
    'open-again-in-progress',
    'An open that the same call sends again is told that the call is in progress.',
    DECISION,
    'claim.token !== move.token && nowMs < claim.leaseEndsMs',
    'nowMs < claim.leaseEndsMs',
  ),
  plant(
    'open-again-in-use',
    'An open that the same call sends again is told that its payment is in use.',
    RECORDS,
    "if (payment.token === token && paymentLists(payment, 'opened')) return 'opened'",
    '',
  ),
  plant(
    'other-body-replayed',
    'A key with another body gets the answer of the first.',
    DECISION,
    "if (claim.bodyHash !== move.claim!.bodyHash) return unchanged({ verdict: 'reused' })",
    '',
    OTHER_BODY,
  ),
  plant(
    'replayed-unpaid',
    'A recorded answer is replayed before its payment has landed.',
    DECISION,
    'if (isCompleted(claim)) return unchanged(replay(claim))',
    'if (claim.kept) return unchanged(replay(claim))',
  ),
  plant(
    'taken-over-alive',
    'A key that is settling is taken over while its call lives.',
    DECISION,
    'if (claim.token !== move.token && nowMs < claim.leaseEndsMs)',
    "if (claim.token !== move.token && nowMs < claim.leaseEndsMs && !claimLists(claim, 'orphaned'))",
  ),
  plant(
    'taken-over-without-token',
    'Who takes a settling key over leaves it the token of its first call.',
    DECISION,
    "state: claimAfter(claim, 'orphaned'), token, leaseEndsMs: nowMs + leaseMs }",
    "state: claimAfter(claim, 'orphaned'), leaseEndsMs: nowMs + leaseMs }",
  ),
  plant(
    'reopened-old-token',
    'A key that is opened again keeps the token of its first call.',
    RECORDS,
    '    token,\n    leaseEndsMs,\n    expiresAtMs: leaseEndsMs + LAPSED_KEPT_MS,\n    caller,',
    '    token: claim?.token ?? token,\n    leaseEndsMs,\n    expiresAtMs: leaseEndsMs + LAPSED_KEPT_MS,\n    caller,',
  ),
  plant(
    'lease-ends-settling',
    'A lease ends a record that is settling.',
    RECORDS,
    'if (record === undefined || nowMs >= record.expiresAtMs) return undefined',
    "if (record === undefined || nowMs >= record.expiresAtMs || (record.state === 'settling' && nowMs >= record.leaseEndsMs)) return undefined",
  ),
  plant(
    'stranger-opens',
    'Whoever sends the bytes of a payment opens what is kept for it.',
    DECISION,
    'return caller !== undefined && caller === claim.caller && claim.kept!.payment?.txId === txId',
    'return true',
    STRANGER,
  ),
  plant(
    'record-unfenced-key',
    'A record does not check the token of the key.',
    DECISION,
    "if (move.claim && claim?.token !== token) return unchanged('superseded')",
    '',
    TWO_PAYMENTS,
  ),
  plant(
    'record-unfenced-payment',
    'A record does not check the token of the payment.',
    DECISION,
    "if (move.payment && payment?.token !== token) return unchanged('superseded')",
    '',
    TWO_KEYS,
  ),
  plant(
    'recorded-key-expires',
    'A recorded key lives as long as its lease.',
    DECISION,
    'expiresAtMs: nowMs + move.claimTtlMs,',
    'expiresAtMs: leaseEndsMs,',
  ),
  plant(
    'spent-too-shortly',
    'A payment that landed is forgotten before its last round has passed.',
    DECISION,
    'expiresAtMs: nowMs + move.paymentTtlMs,',
    'expiresAtMs: leaseEndsMs,',
    TWO_KEYS,
  ),
  plant(
    'renew-unfenced',
    'A renewal does not check the token of the key.',
    DECISION,
    "if (hold.claim && !(claim?.token === hold.token && claimLists(claim, 'renewed'))) return unchanged(false)",
    "if (hold.claim && !(claim && claimLists(claim, 'renewed'))) return unchanged(false)",
    TWO_PAYMENTS,
  ),
  plant(
    'renew-half',
    'A renewal renews the key where the payment is another call’s by now.',
    DECISION,
    'return leaving(true, renewedClaim, renewedPayment,',
    'return leaving(true, renewedClaim, undefined,',
  ),
  plant(
    'release-frees-anothers',
    'A release frees a payment that another call holds.',
    CLOSING,
    "payment?.token === move.token && (move.how !== 'release' || !move.claim || claimOurs)",
    "payment !== undefined && (move.how === 'release' || payment.token === move.token)",
  ),
  plant(
    'release-after-take-over',
    'A release frees a payment whose key another call took over.',
    CLOSING,
    "payment?.token === move.token && (move.how !== 'release' || !move.claim || claimOurs)",
    'payment?.token === move.token',
  ),
  plant(
    'release-of-adopted',
    'A call that took a settling key over may release it.',
    CLOSING,
    "claim?.token === move.token && (!claimLists(claim, 'orphaned') || claim.kept!.by === move.token)",
    'claim?.token === move.token',
  ),
  plant(
    'close-unfenced',
    'A close does not check the token of the key.',
    CLOSING,
    "claim?.token === move.token && (!claimLists(claim, 'orphaned') || claim.kept!.by === move.token)",
    'claim !== undefined',
  ),
  plant(
    'close-loses-answer',
    'A completed key keeps no answer.',
    CLOSING,
    'state, kept, expiresAtMs',
    'state, kept: kept && { ...kept, answer: undefined }, expiresAtMs',
  ),
  plant(
    'forfeit-loses-answer',
    'An answer that lost its key is not kept under its payment’s name.',
    CLOSING,
    "if (how !== 'forfeit' || answerName === undefined) return [closed]",
    'if (how) return [closed]',
  ),
  plant(
    'close-frees-payment',
    'A call that was charged frees its payment.',
    CLOSING,
    'const payments = event ? [{ ...payment!, state: paymentAfter(payment!, event) }] : NONE',
    "const payments = event ? [{ ...payment!, state: 'free' as const }] : NONE",
  ),
  plant(
    'resolve-unfenced',
    'A resolve does not check the token of the key.',
    DECISION,
    "if (claim?.token !== move.token) return unchanged('moved')",
    "if (!claim) return unchanged('moved')",
  ),
  plant(
    'adopted-forfeited',
    'An answer that a successor found paid is given up, as after a hang-up.',
    DECISION,
    "state: claimAfter(claim, 'found'), expiresAtMs",
    "state: claimAfter(claim, 'forfeited'), expiresAtMs",
  ),
  plant(
    'dead-takes-anothers',
    'After its predecessor’s payment died, a successor takes the payment that another call holds.',
    DECISION,
    'const verdict = verdictOn(payment, move)',
    "const verdict = 'opened' as 'opened' | 'inUse' | 'spent'",
    OF_THREE,
  ),
  plant(
    'dead-without-payment',
    'After its predecessor’s payment died, a successor takes the key and not its own payment.',
    DECISION,
    'payments: move.payment ? [...decided, holdPayment(payment, move, nowMs)] : decided,',
    'payments: decided,',
  ),
  plant(
    'name-not-free',
    'An answer that lost its key is lost where a call that stopped lies under its payment’s name.',
    CLOSING,
    "if (named && !(claimLists(named, 'recorded') && named.leaseEndsMs <= nowMs)) return [closed]",
    'if (named) return [closed]',
    WITH_AND_WITHOUT,
  ),
]
