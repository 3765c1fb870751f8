/** The differences that may be, and why. Each reason must be needed: a run against a node tells of those that are not. */
const REASONS: readonly (readonly [name: RegExp, reason: string])[] = [
  [/^no token$/, 'The sandbox has no token: it answers only programs and pages of this machine.'],
  [/^GET \/versions$/, 'It does not pass for a build of go-algorand.'],
  [
    /the call of an application/,
    'No programs run in the sandbox: the call of any application lands and moves nothing.',
  ],
  [
    /^encoding: (an array around|arrays in arrays)/,
    'A struct that is written as a list is refused by both, in other words.',
  ],
]

export function reasonFor(question: string): string | undefined {
  return REASONS.find(([name]) => name.test(question))?.[1]
}
