/** The quick ones of the end-to-end tests: 300 tests in 24 s. `strangers.attacks` takes 25 s by itself. */
const CHARGE_TESTS = [
  'test/e2e/{answers,attacks.answers,attacks.order,attacks.unwritten,clauses,finals,handlers,limits,price-probe}.test.ts',
]

/** What is mutated together, and the fast tests that have to notice. `npm run mutate -- <scope>` runs one of them. */
export const SCOPES = {
  memory: {
    mutate: [
      'src/adapters/memory/charge-*.ts',
      'src/adapters/memory/drawn-records.ts',
      'src/adapters/memory/expiry.ts',
      'src/adapters/memory/spend.ts',
      'src/adapters/memory/spent-by-time.ts',
      'src/adapters/memory/credit.ts',
      'src/adapters/memory/rate-limit.ts',
      'src/adapters/memory/subscriptions.ts',
    ],
    tests: ['test/contracts/memory.test.ts', 'test/adapters/memory.test.ts'],
  },
  verdicts: {
    mutate: ['src/adapters/facilitator/verdicts.ts'],
    tests: [
      'test/adapters/facilitator/verdicts.test.ts',
      'test/adapters/facilitator/answers.property.test.ts',
    ],
  },
  spending: {
    mutate: ['src/app/client/purse.ts', 'src/app/client/open-payments.ts'],
    tests: ['test/client/{hoarding.attacks,open-payments,purse,spend,uncapped}.test.ts'],
  },
  quotes: {
    mutate: [
      'src/app/client/agreement.ts',
      'src/app/client/quote.ts',
      'src/app/client/receipt.ts',
      'src/app/client/key-ring.ts',
    ],
    tests: ['test/client/{quote,key-ring,price.attacks,client,receipts}.test.ts'],
  },
  delivery: {
    mutate: ['src/app/client/purchase.ts', 'src/app/client/retry.ts', 'src/app/client/verdict.ts'],
    tests: ['test/client/{purchase,retry,delivery.attacks,receipts}.test.ts'],
  },
  // Messages are left out: a person reads them, and their codes are held elsewhere. Real HTTP makes a mutant take seconds,
  // so these two run only where they are asked for by name.
  charge: {
    mutate: ['src/app/charge/*.ts', '!src/app/charge/messages.ts', '!src/app/charge/json-mistakes.ts'],
    excludedMutations: ['StringLiteral'],
    tests: CHARGE_TESTS,
    onlyAsked: true,
  },
  effects: {
    mutate: ['src/app/charge/effects/*.ts'],
    excludedMutations: ['StringLiteral'],
    tests: CHARGE_TESTS,
    onlyAsked: true,
  },
  /** Edited by a program of our own: `npm run mutate:lua`. */
  lua: { tests: ['test/mutation/lua.run.ts'] },
}
