/** What must hold, whatever goes wrong. The README has the same list. */
export const INVARIANTS = {
  'no-charge-without-answer':
    'A payment is sent to be settled only after a run of the handler for it has returned.',
  'no-charge-for-the-lost': 'Nobody settles an earlier call’s payment whose answer was not kept.',
  'recorded-before-settling': 'A payment is sent to be settled only after its call was recorded.',
  'moves-in-time': 'A record that its call has given up on is not made later.',
  'no-answer-without-payment':
    'An answer leaves only for a payment that has landed, or in a window whose payment has landed.',
  'the-right-answer': 'An answer is the one of the run that was paid for, and of what was asked.',
  'one-answer-a-payment': 'No two runs are delivered for one payment.',
  'windows-hold': 'A window that was sold opens its endpoint until its time or its calls end.',
  'windows-open-their-own': 'A window opens the endpoint that it was sold for, and no other.',
  'window-calls-counted': 'A window delivers no more calls than were sold with it.',
  'balances-add-up':
    'What a balance has left and what its calls were told that they cost is what was bought, to the base unit.',
  'counted-once':
    'An answer on a balance is counted once, at what its handler said, and never above its price or what its caller allowed.',
  'balances-open-their-own':
    'A balance opens the endpoints of its own agent until it ends, and no key without money opens anything.',
  'balances-hold': 'A balance that suffices pays for a call, and nothing stays reserved after its call.',
  'charged-is-told': 'An answer to a call that settled says so, or carries what was paid for.',
  'not-quoted-again': 'A payment that landed is never answered with a quote at the endpoint that it was for.',
  'told-not-charged': 'A call that said “not charged” charged nothing, then or later.',
  'key-charged-once': 'Where keys are replayed, one key of one payer is charged once for one body.',
  'answer-can-be-had':
    'What was charged and not delivered can be had by asking again, wherever that is promised.',
  'kept-for-its-owner':
    'What is kept opens for its payer, by a proof or a random key, and where it was in doubt from the payer’s address.',
  'ends-decided': 'When all is well again, no key and no payment is in progress, in use, or in doubt.',
  'unpaid-runs-bounded':
    'A payer’s runs that nobody paid for, and that the payer or the payment failed, stay within its credit; so do those of a window.',
  'caps-hold': 'No payer is charged more a call, or more a day, than its client was told.',
  'paid-once-a-call': 'Of the payments that one call of the client sent, at most one lands.',
  'spending-is-counted': 'A client counts at least what its account has paid.',
  'the-clients-word':
    'What the client reports as charged has landed, and what it reports as not charged has not.',
  'the-seller-chooses':
    'A payment goes to the second facilitator only if the first failed on a question of the seller’s own shortly before.',
  'asked-before-refused': 'A call that ends because no facilitator answered has asked one about its payment.',
  'questions-bounded':
    'A payment that was never recorded costs each facilitator and the node one question for each time that it is presented.',
  'paid-once-a-task': 'Of the payments that are presented for one task, at most one lands.',
  'ends-carry-receipts':
    'A call of the client that fails after it sent a payment says which, how much, until which round, and whether it was charged.',
  'strangers-leave-nothing':
    'A request with neither a payment nor a window’s key opens nothing in the store.',
  'strangers-cost-bounded': 'An answer to a request that nothing was paid for has at most 64 KB.',
  'refunds-are-owed':
    'The list of refunds has each payment that landed and was answered by nobody, and none that was answered.',
  'in-flight-ends': 'When all is well again, no call is in flight.',
  'books-balance': 'The journal and the chain agree, but for what died with its process.',
  'acts-end': 'Every caller gets an answer or an error in the end.',
  'errors-are-named': 'The client fails with errors of its own, which have codes.',
  'the-simulation-works': 'The simulated world itself does not throw.',
} as const

export type Invariant = keyof typeof INVARIANTS
