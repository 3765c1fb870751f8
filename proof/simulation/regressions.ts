/** Seeds that found something in this source. They run with every test, whatever else they have come to mean since. */
export const REGRESSIONS = [
  { seed: '37', says: 'a replica whose clock was ahead swept windows that were still open' },
  { seed: '144', says: 'an audit took a refusal at the door for a word about the payment' },
  { seed: '194', says: 'a payment that landed was quoted again, because its sponsor was quoted no more' },
  { seed: '208', says: 'a journal gave a number twice, after a line that lacked its newline alone' },
  {
    seed: '2323',
    says: 'a recovery whose store did not answer kept a paid answer back, and was in no books',
  },
  { seed: '2911', says: 'one payment earned its payer’s credit twice, in two calls' },
  { seed: '4252', says: 'a payment that never landed was called spent, because it could land no more' },
  { seed: '51362', says: 'a call that had been taken over settled after its successor said “not charged”' },
] as const
