/** Checks a machine's properties on every path through it or on every state, not on samples. */
import type { Table } from '../../domain/state-machine/transition-table.js'

/** A property that holds for each of `some`. Everything holds for an empty set, so `some` must not be empty. */
export interface Property<Subject> {
  readonly says: string
  some(all: readonly Subject[], table: Table): readonly Subject[]
  holds(subject: Subject, table: Table): boolean
}

export interface Proof {
  readonly says: string
  readonly of: 'ways' | 'states'
  readonly checked: number
  readonly refuted: readonly string[]
}

/** The properties that every machine has. */
const SOUND: readonly Property<string>[] = [
  {
    says: 'every state is reached from the initial one',
    some: all => all,
    holds: (state, table) => reachedFrom(table.initial, table).has(state),
  },
  {
    says: 'every state that is not final has a way to a final one, or to any other state where nothing is final',
    some: (all, table) => all.filter(state => !table.rows[state]!.final),
    holds: (state, table) => {
      const reached = reachedFrom(state, table)
      const finals = Object.keys(table.rows).filter(name => table.rows[name]!.final)
      if (finals.length > 0) return finals.some(final => reached.has(final))
      return Object.keys(table.rows).every(other => reached.has(other))
    },
  },
]

export function* proveStates(table: Table, properties = SOUND): Iterable<Proof> {
  const states = Object.keys(table.rows)
  for (const property of properties) yield proved(property, 'states', states, table, state => state)
}

/** @throws Error where a path returns to a state: there would be infinitely many paths. */
export function* provePaths(table: Table, properties: readonly Property<MachinePath>[]): Iterable<Proof> {
  const ways = allPathsOf(table)
  for (const property of properties) yield proved(property, 'ways', ways, table, pathText)
}

export function holds({ checked, refuted }: Proof): boolean {
  return checked > 0 && refuted.length === 0
}

export function pathText({ steps, final }: MachinePath): string {
  return [...steps, final].join(' → ')
}

function proved<Subject>(
  { says, some, holds }: Property<Subject>,
  of: Proof['of'],
  all: readonly Subject[],
  table: Table,
  text: (subject: Subject) => string,
): Proof {
  const subjects = some(all, table)
  const refuted = subjects.filter(subject => !holds(subject, table)).map(text)
  return { says, of, checked: subjects.length, refuted }
}

function reachedFrom(state: string, table: Table): ReadonlySet<string> {
  const reached = new Set([state])
  for (const from of reached) for (const to of Object.values(table.rows[from]!.on)) reached.add(to)
  return reached
}

export interface MachinePath {
  /** `state.event`, in order, like the path that `run` returns. */
  readonly steps: readonly string[]
  readonly states: readonly string[]
  readonly final: string
}

/** @throws Error where a path passes a state twice: there would be infinitely many paths. */
export function allPathsOf(table: Table): readonly MachinePath[] {
  const ways: MachinePath[] = []
  const walk = (state: string, steps: readonly string[], states: readonly string[]): void => {
    if (states.includes(state)) throw new Error(`machine ${table.id} comes back to ${state}`)
    const { on, final } = table.rows[state]!
    if (final) ways.push({ steps, states, final: state })
    for (const [event, target] of Object.entries(on))
      walk(target, [...steps, `${state}.${event}`], [...states, state])
  }
  walk(table.initial, [], [])
  return ways
}
