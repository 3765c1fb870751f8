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
    tests: ['test/client/{price.attacks,client,receipts}.test.ts'],
  },
  delivery: {
    mutate: ['src/app/client/purchase.ts', 'src/app/client/retry.ts', 'src/app/client/verdict.ts'],
    tests: ['test/client/{retry,delivery.attacks,receipts}.test.ts'],
  },
  lua: { mutate: [], tests: ['test/mutation/lua.run.ts'] },
}
