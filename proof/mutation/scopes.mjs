/** What is mutated together, and the fast tests that have to notice. `npm run mutate -- <scope>` runs one of them. */
export const SCOPES = {
  memory: {
    mutate: [
      'src/domain/machines/claim-and-payment.rules.ts',
      'src/domain/charge-store/{records,transition,balance-units}.ts',
      'src/adapters/memory/charge-*.ts',
      'src/adapters/memory/expiry-by-second.ts',
      'src/adapters/memory/spend-ledger.ts',
      'src/adapters/memory/counters.ts',
      'src/adapters/memory/subscriptions.ts',
    ],
    tests: [
      'test/contracts/memory.test.ts',
      'test/adapters/{memory,memory-answers,announce-store,kept-answers}.test.ts',
    ],
  },
  verdicts: {
    mutate: ['src/adapters/facilitator/verdict-of-response.ts'],
    tests: [
      'test/adapters/facilitator/verdicts.test.ts',
      'test/adapters/facilitator/answers.property.test.ts',
    ],
  },
  chain: {
    mutate: ['src/adapters/algorand/{chain-reader,watch-node,ask-node}.ts'],
    tests: ['test/adapters/{chain,algod}.test.ts'],
  },
  spending: {
    mutate: ['src/app/client/spending-limits.ts', 'src/app/client/late-settlements.ts'],
    tests: ['test/client/{hoarding.attacks,late-settlements,spending-limits,spend,counting.attacks}.test.ts'],
  },
  quotes: {
    mutate: [
      'src/app/client/read-quote.ts',
      'src/app/client/subscription-keys.ts',
      'src/app/client/bought-subscription.ts',
    ],
    tests: ['test/client/{quote,subscription-keys,price.attacks,windows.attacks,client,estimate}.test.ts'],
  },
  delivery: {
    mutate: ['src/app/client/{purchase,send-with-retries,charge-evidence}.ts'],
    tests: [
      'test/client/{purchase,retry,charged,client,delivery.attacks,payer-proof,receipts,windows.attacks}.test.ts',
    ],
  },
  // Of all that follow, what is written is left out: a person reads it, and the codes are held elsewhere.
  effects: {
    mutate: ['src/app/charge/effects/{settle,reconcile,recover,record}.ts'],
    excludedMutations: ['StringLiteral'],
    ignorers: ['logs'],
    tests: ['test/app/{balance-calls,charge,recording,settling,window-calls}.test.ts'],
  },
  charge: {
    mutate: ['src/app/charge/{leases,look-up-payments-in-doubt,resend-lost-moves}.ts'],
    excludedMutations: ['StringLiteral'],
    ignorers: ['logs'],
    tests: ['test/app/upkeep.test.ts'],
  },
  admission: {
    mutate: [
      'src/app/charge/effects/{admit,open,validate,entitle,price,verify}.ts',
      'src/app/charge/{names-in-stores,check-payer-proof,seal-answers}.ts',
    ],
    excludedMutations: ['StringLiteral'],
    ignorers: ['logs'],
    tests: [
      'test/app/{admitting,balance-calls,call,closing,holding,opening,owners,payer-proof,prefer-window}.test.ts',
      'test/app/{prices,quoting,recording,sealing,tasks,validating,verifying,window-calls}.test.ts',
    ],
  },
  balances: {
    mutate: [
      'src/app/charge/effects/{count,cover-by-balance}.ts',
      'src/app/charge/{balances,build-close-move}.ts',
    ],
    excludedMutations: ['StringLiteral'],
    ignorers: ['logs'],
    tests: ['test/app/{balance-calls,closing,stream-ends,window-calls}.test.ts'],
  },
  runs: {
    mutate: ['src/app/charge/effects/{credit,deliver}.ts', 'src/app/charge/make-handler-context.ts'],
    excludedMutations: ['StringLiteral'],
    ignorers: ['logs'],
    tests: ['test/app/{crediting,cutting,delivering,make-handler-context,stream-ends}.test.ts'],
  },
  endings: {
    mutate: [
      'src/app/charge/{walk-charge-machine,call-at-work,close-call,call-outcome,subscription-windows}.ts',
    ],
    excludedMutations: ['StringLiteral'],
    ignorers: ['logs'],
    tests: [
      'test/app/{balance-calls,call,charge,closing,ended-call,outcome,recording,stream-ends}.test.ts',
      'test/app/window-calls.test.ts',
    ],
  },
  answers: {
    mutate: ['src/app/charge/{render-answer,what-json-drops,handler-failure,payment-challenge}.ts'],
    excludedMutations: ['StringLiteral'],
    ignorers: ['logs'],
    tests: ['test/app/{render,what-json-drops,handler-failure,prices}.test.ts'],
  },
  /** Edited by a program of our own: `npm run mutate:lua`. */
  lua: { tests: ['proof/mutation/lua.run.ts'] },
}
