/**
 * Bugs to find, each put into a copy of the source on its way into the bundle: nothing in the product can switch one on.
 * Those of the first part were in the source once, and were found by reading it and by attacks.
 */

/** @typedef {{ file: string, find: string, replace: string }} Edit */
/** @typedef {{ name: string, says: string, meets?: string, edits: readonly Edit[] }} Bug */

const CLOSE = 'src/app/charge/close-call.ts'
const OWNERS = 'src/app/charge/names-in-stores.ts'
const RECOVER = 'src/app/charge/effects/recover.ts'
const LIST = 'src/adapters/facilitator/failover.ts'
const WINDOWS = 'src/app/charge/subscription-windows.ts'

/** @type {readonly Bug[]} */
export const ONCE_THERE = [
  {
    name: 'general-error-is-no',
    says: 'A facilitator’s general error is taken for its verdict on the payment.',
    edits: [
      {
        file: 'src/adapters/facilitator/verdict-of-response.ts',
        find: "if (isFinalNo(body) && !DECIDES_NOTHING.test(letters)) return { verdict: 'refused', reason }",
        replace: "return { verdict: 'refused', reason }",
      },
    ],
  },
  {
    name: 'lease-ends-settling',
    says: 'A lease that lapsed ends a settlement: whoever comes next takes the payment for dead.',
    edits: [
      {
        file: RECOVER,
        find: "if (landing === 'unknown') return 'undecided'",
        replace: '',
      },
      {
        file: RECOVER,
        find: "verdict: landing === 'absent' ? 'dead' : 'found',",
        replace: "verdict: landing === 'found' ? 'found' : 'dead',",
      },
    ],
  },
  {
    name: 'settles-the-lost',
    says: 'Recovery settles a payment whose answer was not kept.',
    edits: [
      {
        file: RECOVER,
        find: 'if (read?.txId === payment.txId && owed.answer !== undefined) {',
        replace: 'if (read?.txId === payment.txId) {',
      },
    ],
  },
  {
    name: 'window-of-a-successor',
    says: 'A call that was taken over deletes the window that its successor answers with.',
    meets: 'windows × take-over',
    edits: [
      {
        file: CLOSE,
        find: "  call.holds.held = false\n  if (closed === undefined) return 'storeDown'\n",
        replace:
          "  if (call.window.sold !== undefined) await dropWindow(deps, call.window.sold)\n  call.holds.held = false\n  if (closed === undefined) return 'storeDown'\n",
      },
    ],
  },
  {
    name: 'unpaid-evicts-paid',
    says: 'Calls at work push completed answers out of memory.',
    edits: [
      {
        file: 'src/adapters/memory/charge-records.ts',
        find: '    this.#reserved.add(claim)\n',
        replace:
          '    this.#reserved.add(claim)\n    if (this.#claims.size > 50) this.#claims.delete(this.#claims.keys().next().value!)\n',
      },
    ],
  },
  {
    name: 'seller-gives-budget-back',
    says: 'The client believes a seller that says “not charged”, and spends the amount again.',
    edits: [
      {
        file: 'src/app/client/purchase.ts',
        find: '  const said = await chargedAfter(request, delivery, ready, deps)\n',
        replace:
          "  const said = await chargedAfter(request, delivery, ready, deps)\n  if (said === 'no') await ready.reservation.release()\n",
      },
      {
        file: 'src/app/client/spending-limits.ts',
        find: 'const release = () => tolerated(options, () => ledger.release(id))',
        replace:
          "const release = () => tolerated(options, () => (ledger.release(id), ledger.settle(id, 'dead')))",
      },
    ],
  },
  {
    name: 'host-breaks-a-door',
    says: 'A Host header that is no URL breaks the A2A door after the charge.',
    edits: [
      {
        file: 'src/adapters/http/read-request.ts',
        find: '    webOrigin(scheme, request.headers.host) ??\n',
        replace: `    \`\${scheme}://\${request.headers.host}\` ??\n`,
      },
      {
        file: 'src/adapters/a2a/transport.ts',
        find: `  const root = new URL(baseUrl).pathname.replace(/\\/$/, '')\n`,
        replace: `  const root = ''\n`,
      },
      {
        file: 'src/adapters/a2a/transport.ts',
        find: '  return written(outcome, () => rpcResponseOf',
        replace: '  new URL(incoming.baseUrl)\n  return written(outcome, () => rpcResponseOf',
      },
    ],
  },
  {
    name: 'redirect-frees-key',
    says: 'A redirect of the handler’s is charged, and its key is freed.',
    edits: [
      {
        file: CLOSE,
        find: "finish(keeps === undefined ? 'forfeit' : 'complete')",
        replace: "finish(keeps === undefined || call.handled.answer!.status >= 300 ? 'forfeit' : 'complete')",
      },
    ],
  },
  {
    name: 'runs-for-nothing',
    says: 'Runs are not on credit.',
    edits: [
      {
        file: 'src/app/charge/effects/credit.ts',
        find: "if (deps.rules.credit === undefined) return 'credited'\n",
        replace: "if (deps.rules.credit !== undefined) return 'credited'\n",
      },
    ],
  },
  {
    name: 'recovery-keeps-the-answer',
    says: 'In release mode recovery takes the payment and throws the answer away.',
    meets: 'release mode × recovery',
    edits: [
      {
        file: RECOVER,
        find: "      case 'completed':\n",
        replace:
          "      case 'completed':\n        if (deps.rules.idempotency?.onLostResponse !== 'replay') return 'spent'\n",
      },
    ],
  },
  {
    name: 'late-moves',
    says: 'Moves that timed out come true later.',
    edits: [
      {
        file: 'src/adapters/redis/server-time.ts',
        find: 'Math.floor(nowMs) + commandTimeoutMs',
        replace: 'Math.floor(nowMs) + 3_600_000',
      },
    ],
  },
  {
    name: 'lost-completion',
    says: 'A completion whose answer was lost frees its key.',
    edits: [
      {
        file: CLOSE,
        find: '    deps.upkeep.pendingCloses.add(move)\n',
        replace: "    deps.upkeep.pendingCloses.add({ ...move, how: 'forfeit' })\n",
      },
    ],
  },
  {
    name: 'keyless-leads-nowhere',
    says: 'Without a key, asking again after “settlement unknown” leads nowhere.',
    edits: [
      {
        file: OWNERS,
        find: 'const own = read && paymentName(endpoint.owner, read)',
        replace: 'const own = read && paymentName(endpoint.owner + call.id, read)',
      },
    ],
  },
  {
    name: 'landed-payment-opens',
    says: 'A payment that landed opens what is kept under a short key, or under none, for whoever presents it.',
    edits: [
      {
        file: OWNERS,
        find: 'isBearer: !(call.payment.isProven || isRandom || scope?.isSecret),',
        replace: 'isBearer: false,',
      },
    ],
  },
  {
    name: 'any-proof-opens',
    says: 'A proof of any payer opens what any payment paid for.',
    edits: [
      {
        file: 'src/app/charge/check-payer-proof.ts',
        find: '  call.payment.isProven = refusal === undefined\n  return refusal && problemOf(refusal)',
        replace:
          "  const told = refusal === 'invalid_siwx_request' ? undefined : refusal\n  call.payment.isProven = told === undefined\n  return told && problemOf(told)",
      },
    ],
  },
  {
    name: 'lost-answer-is-lost',
    says: 'An answer without a key is kept for nobody once it was charged for.',
    edits: [
      {
        file: CLOSE,
        find: "return call.payment.read !== undefined && rules.keepAnswersMs > 0 ? 'payment' : undefined",
        replace: 'return undefined',
      },
    ],
  },
  {
    name: 'recovered-is-not-booked',
    says: 'What recovery earns stands in no books.',
    edits: [
      {
        file: 'src/domain/income-bookings.ts',
        find: "return charged === 'yes' || (charged === 'earlier' && LEARNS.has(path.at(-1) ?? ''))",
        replace: "return charged === 'yes'",
      },
      {
        file: 'src/audit/reconciliation/compare-with-chain.ts',
        find: "import { reportsCharge } from '../../domain/income-bookings.js'",
        replace:
          "const reportsCharge = ({ charged, path }: EndedCall) => charged === 'yes' || path === undefined",
      },
    ],
  },
  {
    name: 'swept-by-own-clock',
    says: 'Windows are swept by a replica’s own clock.',
    meets: 'windows × clocks',
    edits: [
      {
        file: 'src/app/server/subscription-store-upkeep.ts',
        find: 'await store.sweep(await windowsNow({ subscriptions: store, clock }))',
        replace: 'await store.sweep(clock.now())',
      },
    ],
  },
  {
    name: 'redirect-is-denied',
    says: 'The client reports a redirect that was settled as not charged.',
    edits: [
      {
        file: 'src/app/client/purchase.ts',
        find: '  if ([reply, torn].some(head => head && isSettlementOf(head, signed))) {\n',
        replace: '  if (torn && isSettlementOf(torn, signed)) {\n',
      },
      {
        file: 'src/app/client/purchase.ts',
        find: "  if (charged === 'yes' || !(await deps.landed(signed.txId))) return charged\n",
        replace: "  if (charged !== 'maybe' || !(await deps.landed(signed.txId))) return charged\n",
      },
      {
        file: 'src/app/client/charge-evidence.ts',
        find: "  if (isSettlementOf(reply, signed)) return 'yes'\n",
        replace: '',
      },
      {
        file: 'src/app/client/charge-evidence.ts',
        find: "  if (reply.status < 400) return 'maybe'\n",
        replace: '',
      },
    ],
  },
  {
    name: 'payments-stop-sales',
    says: 'Five payments in a row that a facilitator does not answer stop the sales to everybody.',
    edits: [
      { file: LIST, find: 'return awake.length > 0 ? awake : members', replace: 'return awake' },
      {
        file: LIST,
        find: 'if (asked.length === 0) return NOT_QUOTED',
        replace:
          "if (asked.length === 0) return { verdict: 'unreachable', cause: 'left alone after failures' }",
      },
      {
        file: LIST,
        find: 'member.isPaused = !(await member.facilitator.isUp())',
        replace: 'member.isPaused = (member.failures = (member.failures ?? 0) + 1) % 5 === 0',
      },
      {
        file: LIST,
        find: 'if (clock.monotonic() < member.askAgainAtMs) return member.isPaused',
        replace: '',
      },
      {
        file: LIST,
        find: 'if (member.isPaused) void isDown(member)',
        replace: 'if (member.isPaused && clock.monotonic() >= member.askAgainAtMs) member.isPaused = false',
      },
      {
        file: LIST,
        find: 'verification.down !== false && isDown(member)',
        replace: 'isDown(member)',
      },
    ],
  },
  {
    name: 'payer-chooses-facilitator',
    says: 'A payment goes to the facilitator whose sponsor its copy of the terms names.',
    edits: [
      {
        file: LIST,
        find: 'async verify(payment, requirements, sponsor) {',
        replace:
          'async verify(payment, requirements) {\n      const sponsor = payment.accepted?.extra?.feePayer',
      },
      {
        file: LIST,
        find: 'return isNext || (await quoted.wasQuoted(own.facilitator.url, sponsor!)) ? [own] : []',
        replace: 'return isNext ? [own] : [own]',
      },
    ],
  },
  {
    name: 'owner-without-handle',
    says: 'What is kept belongs to the seller’s address, so a window of one agent opens its sister’s endpoint of the same name.',
    meets: 'windows × agents',
    edits: [
      {
        file: OWNERS,
        find: 'agent: JSON.stringify([caip2, payTo, handle]),',
        replace: 'agent: JSON.stringify([caip2, payTo, handle && 0]),',
      },
    ],
  },
  {
    name: 'owner-with-price',
    says: 'What is kept belongs to the price as well, so a deploy that changes it loses answers and windows.',
    meets: 'deploys × what is kept',
    edits: [
      {
        file: 'src/app/server/endpoint-entries.ts',
        find: 'const ownName = endpointOwner(owner, soldAs)',
        replace:
          'const ownName = endpointOwner(owner, soldAs + String(def.subscription?.price ?? def.price))',
      },
    ],
  },
  {
    name: 'spent-is-charged',
    says: 'The client reports a payment as charged because the seller says that it is spent, though it never landed.',
    edits: [
      {
        file: 'src/app/client/charge-evidence.ts',
        find: "new Set(['answer_not_written', 'answer_not_kept'])",
        replace: "new Set(['payment_spent', 'answer_not_written', 'answer_not_kept'])",
      },
    ],
  },
  {
    name: 'owner-without-endpoint',
    says: 'A key opens at one endpoint what was paid for at another.',
    meets: 'keys × endpoints',
    edits: [
      {
        file: OWNERS,
        find: 'return JSON.stringify([agent, endpoint])',
        replace: 'return JSON.stringify([agent, endpoint && 0])',
      },
    ],
  },
  {
    name: 'request-without-query',
    says: 'A key opens the same answer whatever the query is.',
    meets: 'keys × queries',
    edits: [
      {
        file: OWNERS,
        find: 'canonicalJson({ ...query })',
        replace: 'String(query && 0)',
      },
    ],
  },
  {
    name: 'payment-before-window',
    says: 'A payment beside the key of an open window is looked at first, and a broken one gets a quote.',
    meets: 'windows × payments',
    edits: [
      {
        file: 'src/app/charge/effects/entitle.ts',
        find: "if (subscriptionKey === undefined || (payment.kind === 'none' && !call.balance)) return undefined",
        replace: 'if (payment.kind !== undefined) return undefined',
      },
    ],
  },
  {
    name: 'address-opens-window',
    says: 'The address that a sale in doubt came from opens the window that was sold.',
    meets: 'windows × doubt',
    edits: [
      {
        file: OWNERS,
        find: 'read && endpoint.periodMs === undefined ? callerMark(',
        replace: 'read ? callerMark(',
      },
    ],
  },
  {
    name: 'named-payer-owns',
    says: 'A payment’s sender owns what lies under its keys, whoever signed.',
    meets: 'keys × forged payments',
    edits: [
      {
        file: OWNERS,
        find: 'paysUs(deps, read) && read.proven()) return',
        replace: 'paysUs(deps, read)) return',
      },
    ],
  },
  {
    name: 'task-of-any-agent',
    says: 'A task of one agent goes on at its sister, which charges for it.',
    meets: 'tasks × agents',
    edits: [
      {
        file: OWNERS,
        find: "return sha256(JSON.stringify(['task', agent, id]))",
        replace: "return sha256(JSON.stringify(['task', agent && 0, id]))",
      },
    ],
  },
  {
    name: 'deploy-of-keys-loses',
    says: 'A deploy from which on keys count, or count no longer, loses answers that were in doubt.',
    meets: 'deploys × modes',
    edits: [
      {
        file: 'src/app/charge/effects/open.ts',
        find: 'return read !== undefined && (wasNamed || holds.key !== undefined)',
        replace: 'return false && read !== wasNamed',
      },
    ],
  },
  {
    name: 'old-proof-opens',
    says: 'A proof of an hour ago opens what its payment paid for.',
    meets: 'proofs × time',
    edits: [
      {
        file: 'src/domain/sign-in-with-x.ts',
        find: "if (nowMs - issuedMs > AGE_MAX_MS) return 'invalid_siwx_issued_at_too_old'",
        replace: '',
      },
    ],
  },
  {
    name: 'keys-open-for-nobody',
    says: 'A request with a key and no money opens the key in the store.',
    meets: 'keys × strangers',
    edits: [
      {
        file: OWNERS,
        find: 'if (subscriptionKey === undefined) return undefined',
        replace: "if (subscriptionKey === undefined) return { who: ['nobody'], isSecret: true }",
      },
    ],
  },
  {
    name: 'error-without-receipt',
    says: 'The client’s error after a refusal does not say which payment it sent.',
    edits: [
      {
        file: 'src/app/client/client-errors.ts',
        find: '    ...(location !== undefined && { location }),\n    ...payment,\n',
        replace: '    ...(location !== undefined && { location }),\n',
      },
    ],
  },
  {
    name: 'found-for-nobody',
    says: 'What recovery finds paid is kept for two minutes, also where its caller has hung up and nobody had it.',
    meets: 'take-over × hang-ups',
    edits: [
      {
        file: RECOVER,
        find: 'retentionMs: keptMs(deps, call, owed.window),',
        replace:
          'retentionMs: Math.min(keptMs(deps, call, owed.window), call.holds.key === undefined ? 120_000 : Infinity),',
      },
    ],
  },
  {
    name: 'hang-ups-are-free',
    says: 'Calls of a window that counts them are not on credit: whoever hangs up has its handler run for ever.',
    meets: 'windows × hang-ups',
    edits: [
      {
        file: WINDOWS,
        find: "return taken.callsLeft === undefined ? 'covered'",
        replace: "return taken.callsLeft !== undefined ? 'covered'",
      },
    ],
  },
]

/** @type {readonly Bug[]} */
export const MADE_UP = [
  {
    name: 'early-absence',
    says: 'A payment counts as absent from the chain before its last round is past.',
    edits: [
      {
        file: 'src/adapters/algorand/chain-reader.ts',
        find: "if (tip <= window.lastValid) return 'unknown'",
        replace: '',
      },
      {
        file: 'src/adapters/algorand/chain-reader.ts',
        find: 'await inBlocks(algod, txId, firstValid, lastValid)',
        replace: 'await inBlocks(algod, txId, firstValid, tip < lastValid ? tip : lastValid)',
      },
    ],
  },
  {
    name: 'doubt-ends-unproved',
    says: 'An answer in doubt is dropped where the chain does not know yet.',
    edits: [
      {
        file: 'src/app/charge/look-up-payments-in-doubt.ts',
        find: "if (landing === 'absent') await drop(one)",
        replace: "if (landing !== 'found') await drop(one)",
      },
      {
        file: 'src/app/charge/look-up-payments-in-doubt.ts',
        find: '.filter(([, { askAfter }]) => askAfter < round)',
        replace: '',
      },
    ],
  },
  {
    name: 'unheld-payment',
    says: 'A payment is not held while its call is at work.',
    edits: [{ file: OWNERS, find: '      payment: read?.txId,\n', replace: '' }],
  },
  {
    name: 'failure-is-charged',
    says: 'A handler that throws is charged for.',
    edits: [
      {
        file: 'src/app/charge/effects/deliver.ts',
        find: "        end('failed')\n",
        replace:
          "        call.handled.answer ??= { status: 200, headers: {}, body: '{}' }\n        end('delivered')\n",
      },
    ],
  },
  {
    name: 'settled-unrecorded',
    says: 'A store that does not answer is no reason not to settle.',
    edits: [
      {
        file: 'src/app/charge/effects/record.ts',
        find: '    return storeDown(call)\n',
        replace: "    return 'recorded'\n",
      },
    ],
  },
  {
    name: 'released-while-settling',
    says: 'A settlement without a clear answer is given back at once.',
    edits: [
      {
        file: 'src/app/charge/effects/reconcile.ts',
        find: '  return untilCertain(deps, call.terms.settlingSinceMs, () => attempt(deps, call))\n',
        replace:
          "  return untilCertain(deps, call.terms.settlingSinceMs, () => attempt(deps, call)).then(landing => (landing === 'unknown' ? 'absent' : landing))\n",
      },
    ],
  },
  {
    name: 'cap-off-by-one',
    says: 'The cap on a price is a base unit too high.',
    edits: [
      {
        file: 'src/app/client/spending-limits.ts',
        find: 'maxPrice !== undefined && amount > maxPrice,',
        replace: 'maxPrice !== undefined && amount > maxPrice + 1n,',
      },
    ],
  },
  {
    name: 'second-payment',
    says: 'The client answers a refusal of its payment with a second payment for the same call.',
    edits: [
      {
        file: 'src/app/client/purchase.ts',
        find: '  const proven = await provenDelivery(',
        replace: `  if (first.reply?.status === 402) {
    const again = await readyPayment(request, ready.selected.challenge, deps)
    const second = encodeHeader(withIdentifier(again.signed.payload, key))
    const { landsUntilMs, signed: { txId } } = again
    const sentAgain = { ...paid, headers: { ...headers, [PAYMENT_SIGNATURE_HEADER]: second } }
    await deps.deliver(sentAgain, { txId, landsUntilMs })
  }
  const proven = await provenDelivery(`,
      },
    ],
  },
  {
    name: 'caller-forgotten',
    says: 'A call whose caller is gone is never counted as ended.',
    edits: [
      {
        file: 'src/app/charge/walk-charge-machine.ts',
        find: '      } finally {\n        inFlight.leave()\n      }',
        replace: '      } finally {\n        if (!request.caller.gone()) inFlight.leave()\n      }',
      },
    ],
  },
  {
    name: 'failed-call-counts',
    says: 'A call of a window counts though it failed.',
    edits: [
      {
        file: WINDOWS,
        find: '(await deps.subscriptions.giveBack!(id, call.id))',
        replace: '((await deps.subscriptions.use!(id, call.id)) as undefined)',
      },
    ],
  },
  {
    name: 'asks-again-at-once',
    says: 'A payment that a facilitator did not answer is verified again at once.',
    edits: [
      {
        file: 'src/app/charge/effects/verify.ts',
        find: '  const verification = await deps.facilitator.verify(payload!, call.terms.requirements!, read?.sponsor)\n',
        replace:
          "  const ask = () => deps.facilitator.verify(payload!, call.terms.requirements!, read?.sponsor)\n  let verification = await ask()\n  if (verification.verdict === 'unreachable') verification = await ask()\n",
      },
    ],
  },
  {
    name: 'window-opens-any',
    says: 'A window’s key opens any endpoint that sells windows.',
    meets: 'windows × endpoints',
    edits: [
      {
        file: OWNERS,
        find: "return sha256(JSON.stringify(['window', endpointOwner, key]))",
        replace: "return sha256(JSON.stringify(['window', endpointOwner && 0, key]))",
      },
      {
        file: 'src/app/charge/effects/entitle.ts',
        find: 'if (record?.endpoint !== call.endpoint.soldAs) return undefined',
        replace: 'if (record === undefined) return undefined',
      },
    ],
  },
  {
    name: 'quote-repeats-its-request',
    says: 'A quote repeats the body that its caller sent.',
    meets: 'quotes × strangers',
    edits: [
      {
        file: 'src/app/charge/effects/price.ts',
        find: '? USED_UP : UNPAID',
        replace: "? USED_UP : UNPAID + ' for ' + JSON.stringify(call.request.body)",
      },
    ],
  },
  {
    name: 'doubt-is-not-owed',
    says: 'A payment that landed in doubt, and that nobody answered, is not on the list of refunds.',
    edits: [
      {
        file: 'src/audit/reconciliation/owed-refunds.ts',
        find: 'isOwed(finding) && txId !== undefined',
        replace: "isOwed(finding) && finding !== 'settled_in_doubt' && txId !== undefined",
      },
    ],
  },
]

const UNITS = 'src/domain/charge-store/balance-units.ts'
const DECISION = 'src/domain/charge-store/transition.ts'

/** Of balances and gates. @type {readonly Bug[]} */
export const ON_BALANCES = [
  {
    name: 'replay-is-counted',
    says: 'A call on a balance that is replayed is counted once more.',
    meets: 'balances × replays',
    edits: [
      {
        file: DECISION,
        find: '    if (isCompleted(claim)) return unchanged(replay(claim))',
        replace:
          '    if (isCompleted(claim) && move.take !== undefined) return leaving(replay(claim), undefined, undefined, charged(findUnits(records, move, nowMs), move.take))\n    if (isCompleted(claim)) return unchanged(replay(claim))',
      },
    ],
  },
  {
    name: 'failure-is-counted',
    says: 'A call on a balance that fails keeps what it has reserved.',
    edits: [
      {
        file: DECISION,
        find: 'const units = isCounted ? charged(findUnits(records, move, nowMs), move.charge) : undefined',
        replace:
          "const units = isCounted ? charged(findUnits(records, move, nowMs), move.charge) : move.how === 'release' && claimOurs && claim.reserved ? charged(findUnits(records, move, nowMs), claim.reserved) : undefined",
      },
    ],
  },
  {
    name: 'charge-above-price',
    says: 'A handler may charge more than the price of its call.',
    edits: [
      {
        file: 'src/app/charge/make-handler-context.ts',
        find: 'said !== undefined && (said <= most ||',
        replace: 'said !== undefined && (said <= 10n ** 15n ||',
      },
    ],
  },
  {
    name: 'late-count',
    says: 'A count that comes after another call took its key over counts all the same.',
    meets: 'balances × take-over',
    edits: [
      {
        file: DECISION,
        find: 'const isCounted = move.charge !== undefined && claims[0] !== undefined && isCompleted(claims[0])',
        replace: 'const isCounted = move.charge !== undefined',
      },
    ],
  },
  {
    name: 'ended-balance-pays',
    says: 'A balance is stored for an hour longer than it was sold for.',
    meets: 'balances × time',
    edits: [
      {
        file: WINDOWS,
        find: 'slot: balanceSlot(id), units, expiresAtMs })',
        replace: 'slot: balanceSlot(id), units, expiresAtMs: expiresAtMs + 3_600_000 })',
      },
    ],
  },
  {
    name: 'balance-of-a-seller',
    says: 'A balance of one agent opens the endpoints of another that shares its store.',
    meets: 'balances × agents',
    edits: [
      {
        file: OWNERS,
        find: 'export function balanceId({ agent }: Owner, key: string)',
        replace: 'export function balanceId({ seller: agent }: Owner, key: string)',
      },
    ],
  },
  {
    name: 'reserved-twice',
    says: 'What one call has reserved of a balance, another one may take.',
    meets: 'balances × parallel calls',
    edits: [
      {
        file: UNITS,
        find: 'Math.max(0, unused - records.reserved(move.slot, nowMs) + replaced)',
        replace: 'Math.max(0, unused + 0 * replaced)',
      },
    ],
  },
  {
    name: 'max-charge-unread',
    says: 'A call on a balance takes its price, also where its caller allowed less.',
    edits: [
      {
        file: 'src/app/charge/balances.ts',
        find: '(most === undefined || amount <= parseBaseUnits(most)!)',
        replace: '(most === undefined || parseBaseUnits(most) !== undefined)',
      },
    ],
  },
  {
    name: 'broken-stream-is-counted',
    says: 'A stream on a balance costs its price, also where its seller breaks it.',
    meets: 'balances × streams',
    edits: [
      {
        file: 'src/app/charge/stream-to-caller.ts',
        find: '!!(balance ?? window.used?.isCounted)',
        replace: '!!window.used?.isCounted',
      },
    ],
  },
  {
    name: 'gate-sells-failures',
    says: 'What a route behind a gate answers is sold, also where its status says that it failed.',
    meets: 'gates × failures',
    edits: [
      {
        file: 'src/gate/sold-answers.ts',
        find: '  refuseUnsold(head, redirects)\n  if (body instanceof Readable)',
        replace:
          '  refuseUnsold(head, redirects)\n  head = { ...head, status: 200 }\n  if (body instanceof Readable)',
      },
      {
        file: 'src/gate/sold-answers.ts',
        find: 'toUSVString(body), ...head })',
        replace: 'toUSVString(body), ...head, status: 200 })',
      },
    ],
  },
  {
    name: 'gate-sells-what-throws',
    says: 'A route behind a gate that throws is sold as an empty answer.',
    meets: 'gates × failures',
    edits: [
      {
        file: 'src/gate/sold-answers.ts',
        find: '          HeldResponse.threw(res, cause)\n          // Koa writes no more, and nothing would end what has begun.\n          if (isPast() && !written.isSent()) res.destroy(cause as Error)\n          throw cause',
        replace: "          ctx.status = 200\n          ctx.body = ''",
      },
    ],
  },
]

const UPSTREAM = 'src/app/forward-to-upstream.ts'

/** Of servers behind the seller. @type {readonly Bug[]} */
export const ON_UPSTREAMS = [
  {
    name: 'json-is-forgotten',
    says: 'An endpoint with an upstream forgets that it reads JSON, so its price is not the one of what is asked.',
    meets: 'upstreams × prices',
    edits: [
      {
        file: UPSTREAM,
        find: 'const said = options.bodyType ?? (handler && made.get(handler))',
        replace: 'const said = options.bodyType',
      },
    ],
  },
  {
    name: 'parts-are-sold',
    says: 'An upstream’s answer is sold whatever its status is, such as a part of what was asked for.',
    meets: 'upstreams × failures',
    edits: [
      {
        file: UPSTREAM,
        find: 'isSold: status => status !== 206 && status !== 304 && (sellRedirects === true || status < 300),',
        replace: 'isSold: status => sellRedirects === true || status < 400,',
      },
    ],
  },
]

const ON_REDIS = 'src/adapters/redis/charge-store.ts'

/** Of stores that forget. @type {readonly Bug[]} */
export const ON_FORGETTING = [
  {
    name: 'record-is-not-waited-for',
    says: 'A record is not waited for, so a failover to a replica forgets it.',
    meets: '`waitReplicas` × failover',
    edits: [
      {
        file: ON_REDIS,
        find: "const record = inTime('svcRecord', RECORD, replicated)",
        replace: "const record = inTime('svcRecord', RECORD)",
      },
    ],
  },
  {
    name: 'count-is-not-waited-for',
    says: 'What a call on a balance cost is not waited for, so a failover forgets it.',
    meets: 'balances × failover',
    edits: [
      {
        file: ON_REDIS,
        find: 'const send = charge === undefined ? close : closeReplicated',
        replace: 'const send = charge === undefined ? close : closeReplicated && close',
      },
    ],
  },
  {
    name: 'open-is-not-waited-for',
    says: 'A call on a balance begins at a primary that no replica confirms, which lacks its count: it fails or finds too little, and the count comes back.',
    meets: 'balances × a primary that comes back',
    edits: [
      {
        file: ON_REDIS,
        find: 'if (hold.hasUnits) return openBy(openReplicated, hold)',
        replace: '',
      },
      {
        file: ON_REDIS,
        find: "return opened.verdict === 'orphaned' && replicated !== connection",
        replace:
          "return (hold.hasUnits ? ['orphaned', 'replayable', 'notKept'] : ['orphaned']).includes(opened.verdict) && replicated !== connection",
      },
    ],
  },
  {
    name: 'earlier-price-is-quoted-again',
    says: 'A payment of an earlier price that landed, and that the store has forgotten, is quoted the new price.',
    meets: 'deploys × forgetting',
    edits: [
      {
        file: 'src/app/charge/effects/price.ts',
        find: "if (!paysAnotherPrice(deps, call)) return 'mismatched'",
        replace: "if (call) return 'mismatched'",
      },
    ],
  },
  {
    name: 'spent-is-refused',
    says: 'A payment that landed is refused with a quote, where the store has forgotten it.',
    meets: 'forgetting × facilitators',
    edits: [
      {
        file: 'src/app/charge/effects/verify.ts',
        find: "if (read && (verification.verdict === 'spent' || (await landedBefore(deps, call)))) return 'spent'",
        replace: '',
      },
    ],
  },
]

const SETTLER = 'src/facilitator/settle-payment.ts'
const JOURNAL_FILE = 'src/audit/journal/append-to-files.ts'

/** Of a facilitator in the seller's process, of journals and of the bridge. @type {readonly Bug[]} */
export const ON_PARTS = [
  {
    name: 'unclear-is-failed',
    says: 'A facilitator in the process takes a submission that its node did not answer for one that failed.',
    meets: 'in-process facilitators × nodes that do not answer',
    edits: [
      {
        file: SETTLER,
        find: "return pending('The node did not say what became of it')",
        replace: "return { outcome: 'refused', code: SIMULATION_FAILED, words: submission.cause }",
      },
    ],
  },
  {
    name: 'failed-lines-are-dropped',
    says: 'Lines that a full disk did not take are not written again.',
    meets: 'journals × full disks',
    edits: [
      {
        file: 'src/audit/journal/journal-writer.ts',
        find: 'waiting = [...texts, ...waiting]',
        replace: '',
      },
    ],
  },
  {
    name: 'half-lines-stay',
    says: 'What a full disk took of a line stays before the lines that follow.',
    meets: 'journals × full disks',
    edits: [
      {
        file: JOURNAL_FILE,
        find: 'await truncate(path, bytes)',
        replace: '',
      },
    ],
  },
  {
    name: 'numbers-begin-anew',
    says: 'The lines of a new file are numbered from one when the full one is set aside.',
    meets: 'journals × rotation',
    edits: [
      {
        file: JOURNAL_FILE,
        find: 'Math.max(from, numberAfterTail(fd, size) ?? numberAfterFile(olderFiles(path).at(-1)) ?? 1)',
        replace: 'numberAfterTail(fd, size) ?? 1',
      },
    ],
  },
  {
    name: 'cancelled-is-forgotten',
    says: 'A bridge forgets an answer that was paid for when its host cancels the call, so the same call pays again.',
    meets: 'bridges × cancelled calls',
    edits: [
      {
        file: 'src/mcp-buyer/owed-answers.ts',
        find: 'keep(entry)\n      const settled',
        replace: 'const settled',
      },
    ],
  },
]
