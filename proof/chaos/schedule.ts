/** What goes wrong when: all of it decided by the seed before anything runs. */
import type { FaultName, Stage } from '../../src/sandbox.js'
import { seeded } from './random.js'

export type Blow = { readonly atMs: number } & (
  | { readonly kind: 'killAgent'; readonly agent: number; readonly downMs: number }
  /** Killed with its settlements in the air: they landed, will land, or never do, and nobody is left who knows. */
  | {
      readonly kind: 'killSettling'
      readonly agent: number
      readonly fault: FaultName
      readonly forMs: number
    }
  | { readonly kind: 'killRedis'; readonly downMs: number }
  /** Redis's primary dies, and what it wrote in its last `unseenMs` its replica had not received. */
  | { readonly kind: 'failOver'; readonly unseenMs: number; readonly downMs: number }
  | {
      readonly kind: 'cutFacilitator'
      readonly stage: Stage
      readonly fault: FaultName
      readonly forMs: number
    }
)

/** Every way to be cut, late, garbled or refused. A facilitator that lies about settling is believed, by design. */
const CUTS: readonly (readonly [Stage, FaultName])[] = [
  ['supported', 'hang'],
  ['supported', '500'],
  ['verify', 'hang'],
  ['verify', 'reset'],
  ['verify', '500'],
  ['verify', 'truncated'],
  ['verify', 'refuse'],
  ['settle', 'hang'],
  ['settle', 'reset'],
  ['settle', '500'],
  ['settle', 'html'],
  ['settle', 'truncated'],
  ['settle', 'refuse'],
  ['settle', 'string-true'],
  ['settle', 'die-before'],
  ['settle', 'die-after'],
  ['settle', 'late'],
  ['settle', 'pending'],
]

/** Settlements that an agent waits for, or cannot know the outcome of, when it is killed. */
const IN_THE_AIR = ['hang', 'late', 'die-after', 'die-before', 'pending'] as const

export function schedule(seed: number, durationMs: number, agents: number): readonly Blow[] {
  const random = seeded(seed)
  const blows: Blow[] = []
  const every = (lowMs: number, highMs: number, blow: (atMs: number) => Blow) => {
    for (let atMs = random.between(500, highMs); atMs < durationMs; atMs += random.between(lowMs, highMs)) {
      blows.push(blow(atMs))
    }
  }
  every(800, 2_500, atMs => ({
    atMs,
    kind: 'killAgent',
    agent: random.between(0, agents),
    downMs: random.between(0, 1_500),
  }))
  every(1_500, 4_000, atMs => ({
    atMs,
    kind: 'killSettling',
    agent: random.between(0, agents),
    fault: random.pick(IN_THE_AIR),
    forMs: random.between(200, 700),
  }))
  every(6_000, 12_000, atMs => ({ atMs, kind: 'killRedis', downMs: random.between(0, 1_000) }))
  every(500, 1_500, atMs => {
    const [stage, fault] = random.pick(CUTS)
    return { atMs, kind: 'cutFacilitator', stage, fault, forMs: random.between(200, 1_200) }
  })
  every(10_000, 18_000, atMs => ({
    atMs,
    kind: 'failOver',
    unseenMs: random.between(0, 1_500),
    downMs: random.between(0, 1_000),
  }))
  return blows.sort((a, b) => a.atMs - b.atMs)
}
