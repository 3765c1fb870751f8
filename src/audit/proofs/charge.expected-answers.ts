/**
 * The charge again, written from the meaning of each event and without looking at the drawing, so that the drawing can be compared
 * with it. A state a line: its events, each with the answer to the caller where the event ends the call.
 */
const ANSWERS = `
received|admitted|draining:shutting_down|limited:rate_limited|storeDown:facilitator_unavailable|broke:internal_error
opening|opened|orphaned|unusableKey:invalid_input|replayable:replayed|notKept:answer_not_kept|inProgress:idempotency_in_progress|reused:idempotency_key_reuse|inUse:payment_in_use|spent:payment_spent|storeDown:facilitator_unavailable|broke:internal_error
recovering|absent|found:replayed|notKept:answer_not_kept|spent:payment_spent|moved:idempotency_in_progress|undecided:settlement_unknown|storeDown:settlement_unknown|broke:settlement_unknown
validating|valid|probe|invalid:invalid_input|broke:internal_error
entitling|covered|uncovered|unpriceable:price_unavailable|exhausted:too_many_unpaid_calls|storeDown:facilitator_unavailable|broke:internal_error
pricing|presented|unpaid:payment_required|malformed:payment_refused|mismatched:payment_refused|unpriceable:price_unavailable|broke:price_unavailable
verifying|verified|refused:payment_refused|expiring:payment_refused|spent:payment_spent|limited:rate_limited|unreachable:facilitator_unavailable|storeDown:facilitator_unavailable|broke:facilitator_unavailable
crediting|credited|exhausted:too_many_unpaid_calls|abandoned:abandoned|stopped:shutting_down|storeDown:facilitator_unavailable|broke:facilitator_unavailable
delivering|delivered|expired:payment_not_settled|failed:handler_error|timedOut:handler_timeout|abandoned:abandoned|stopped:shutting_down|broke:handler_error
recording|recorded|superseded:superseded|expired:payment_not_settled|abandoned:abandoned|stopped:shutting_down|storeDown:facilitator_unavailable|broke:facilitator_unavailable
settling|unknown|broke|refused|elsewhere|settled:settled
reconciling|absent|found:settled|unknown:settlement_unknown|broke:settlement_unknown
releasing|released:payment_not_settled|superseded:settlement_unknown|storeDown:settlement_unknown|broke:settlement_unknown
yielding|released:payment_spent|superseded:settlement_unknown|storeDown:settlement_unknown|broke:settlement_unknown
serving|delivered:served|measured|failed:handler_error|timedOut:handler_timeout|abandoned:abandoned|stopped:shutting_down|broke:handler_error
counting|counted:counted|superseded:superseded|abandoned:abandoned|unknown:charge_unknown|broke:charge_unknown
`

/** By state and event; `null` where the call continues. */
export const CHARGE_ANSWERS: Readonly<Record<string, Readonly<Record<string, string | null>>>> =
  Object.fromEntries(
    ANSWERS.trim()
      .split('\n')
      .map(line => {
        const [state, ...events] = line.split('|')
        return [
          state,
          Object.fromEntries(events.map(each => [each.split(':')[0], each.split(':')[1] ?? null])),
        ]
      }),
  )
