/** Asks two peers the same questions in the same order, and compares what they told. */
import { isDeepStrictEqual } from 'node:util'
import { Cast } from './cast.js'
import type { Peer } from './peer.js'
import type { Question } from './question.js'
import { questions } from './questions/all.js'
import { reasonFor } from './reasons.js'
import { Stage } from './stage.js'

export interface Difference {
  readonly question: string
  readonly ours: unknown
  readonly theirs: unknown
  /** Why it may differ; `undefined` where it may not. */
  readonly reason: string | undefined
}

export interface Comparison {
  readonly peer: string
  readonly isInDevelopment: boolean
  readonly asked: number
  /** What the other peer told, by question. */
  readonly answered: ReadonlyMap<string, unknown>
  readonly differences: readonly Difference[]
}

export async function compare(
  ours: Peer,
  theirs: Peer,
  { seed, only = '' }: { seed: string; only?: string },
): Promise<Comparison> {
  const asked = questions.filter(({ name }) => name.includes(only))
  const first = await answers(ours, asked, seed)
  const second = await answers(theirs, asked, seed)
  const answered = new Map(asked.map(({ name }, at) => [name, second[at]]))
  const differences = asked.flatMap(({ name }, at) => {
    if (isDeepStrictEqual(first[at], second[at])) return []
    return [{ question: name, ours: first[at], theirs: second[at], reason: reasonFor(name) }]
  })
  return {
    peer: theirs.name,
    isInDevelopment: theirs.isInDevelopment,
    asked: asked.length,
    answered,
    differences,
  }
}

export async function answers(peer: Peer, asked: readonly Question[], seed: string): Promise<unknown[]> {
  const cast = new Cast(seed)
  await peer.fund(cast.members)
  const stage = new Stage(peer, cast)
  const told: unknown[] = []
  for (const { name, ask } of asked) {
    told.push(withoutUndefined(await named(name, ask(stage))))
  }
  return told
}

function withoutUndefined(value: unknown): unknown {
  return value === undefined ? null : JSON.parse(JSON.stringify(value))
}

async function named<T>(name: string, answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    throw new Error(`The question '${name}' could not be asked`, { cause: error })
  }
}
