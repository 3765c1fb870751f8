/** What is explored: each case is what callers send, and how much trouble there may be at most. */
import type { CallPlan, Case } from './world.js'

const P: CallPlan = { key: 'k', payment: 'p' }
const Q: CallPlan = { key: 'k', payment: 'q' }
const NO_KEY: CallPlan = { payment: 'p' }
const TROUBLE = { crashes: 1, losses: 1, hangUps: 1 }

type Unmoded = Omit<Case, 'mode'>

const bothModes = (plans: readonly Unmoded[]): Case[] =>
  plans.flatMap(plan =>
    (['release', 'replay'] as const).map(mode => ({ ...plan, name: `${plan.name}, ${mode}`, mode })),
  )

const two = (name: string, ...calls: readonly CallPlan[]): Unmoded => ({ name, calls, ...TROUBLE })

export const CASES_OF_TWO: readonly Case[] = [
  ...bothModes([
    two('one key, one payment', P, P),
    two('one key, two payments', P, Q),
    two('two keys, one payment', P, { key: 'l', payment: 'p' }),
    two('one payment, with a key and without', P, NO_KEY),
    two('one key, one payment, two bodies', P, { ...P, body: 'other' }),
    two('one key, two payments, two bodies', P, { ...Q, body: 'other' }),
  ]),
  // Without a key, the mode says nothing.
  ...[
    two('no key, one payment', NO_KEY, NO_KEY),
    two('no key, one payment, two bodies', NO_KEY, { ...NO_KEY, body: 'other' }),
    two(
      'no key, no proof, one address',
      { ...NO_KEY, bearerFrom: 'home' },
      { ...NO_KEY, bearerFrom: 'home' },
    ),
    two('no key, and a stranger sends the bytes again', NO_KEY, { ...NO_KEY, bearerFrom: 'away' }),
    two('a key that a stranger guesses', { ...P, bearerFrom: 'home' }, { ...P, bearerFrom: 'away' }),
    two('a window covers both', { key: 'k' }, { key: 'k' }),
  ].map(plan => ({ ...plan, mode: 'replay' as const })),
]

export const CASES_OF_THREE: readonly Case[] = bothModes([
  { name: 'one key, one payment three times', calls: [P, P, P], ...TROUBLE },
  { name: 'one key, a payment sent twice, and another', calls: [P, P, Q], ...TROUBLE },
  { name: 'one key, three payments', calls: [P, Q, { key: 'k', payment: 'r' }], ...TROUBLE },
  { name: 'one key, two payments, and one of them without it', calls: [P, Q, { payment: 'q' }], ...TROUBLE },
])
