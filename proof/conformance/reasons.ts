/** The differences that may be, and why. Each reason must be needed: a run against a node tells of those that are not. */
export const reasons: readonly (readonly [name: RegExp, reason: string])[] = [
  [/^no token$/, 'The sandbox has no token: it answers only programs and pages of this machine.'],
  [/^GET \/versions$/, 'The sandbox does not pass for a build of go-algorand.'],
  [
    /^GET \/(\/v2|V2)\/status$/,
    'Outside of `/v2/` the sandbox has other services, and answers in their words.',
  ],
  [/in a round of the past$/, 'The sandbox keeps no balances of past rounds: 501.'],
  [/a program that signs/, 'No programs run in the sandbox: 501.'],
  [
    /the call of an application/,
    'No programs run in the sandbox: the call of any application lands and moves nothing.',
  ],
  [
    /keys that go offline/,
    'There is no consensus in the sandbox, and no other transactions than payments need: 501.',
  ],
  [
    /^encoding: /,
    'The sandbox reads transactions by algosdk, and takes the canonical encoding alone: 501 to others, 400 in other words to what is none.',
  ],
  [
    /^simulate (with (nothing|text|a JSON array|an unknown key|a byte|an array)|in (JSON|msgpack) with)/,
    'Algosdk reads the request: no bytes may follow it, unknown keys of JSON are ignored, and refusals are in other words.',
  ],
]

export function reasonFor(question: string): string | undefined {
  return reasons.find(([name]) => name.test(question))?.[1]
}
