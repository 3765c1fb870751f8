/** A command as a table: Commander parses by it, and its program is given what the table says, with its types. */
import { type Argument, type Command, Option } from 'commander'

/** Reads a text; of what may be repeated, with what was read before. */
type Read = (text: string, before: never) => unknown
interface Limits {
  readonly choices?: readonly string[]
  readonly conflicts?: string
  readonly default?: string
}
/** How it is typed, what the help says of it, and how its text is read or limited; with `Read`, also what it is without a text. */
type Entry = readonly [typed: string, says: string, how?: Read | Limits, otherwise?: unknown]
/** It always has a value. */
type Sure =
  | readonly [string, string, Read, unknown]
  | readonly [string, string, { readonly default: string }]
  | readonly [`<${string}` | `--no-${string}`, ...unknown[]]

type Camel<S> = S extends `${infer First}-${infer Rest}` ? `${First}${Capitalize<Camel<Rest>>}` : S
type Word<S> = S extends `--no-${infer Name}` ? Name : S extends `--${infer Name}` ? Name : never
type NameOf<S> = Camel<Word<S extends `${infer Flag} ${string}` ? Flag : S>>
type TextOf<S> = S extends `${string}.${string}`
  ? readonly string[]
  : S extends `--${string}<${string}` | `${'<' | '['}${string}`
    ? string
    : boolean
type Value<E extends Entry> = E[2] extends (...given: never) => infer V
  ? V
  : E[2] extends { readonly choices: readonly (infer V)[] }
    ? V
    : TextOf<E[0]>

type Arguments<T extends readonly Entry[]> = {
  [At in keyof T]: T[At] extends Sure ? Value<T[At]> : Value<T[At]> | undefined
}
/** What the flags of a table come to. */
export type FlagsOf<F extends readonly Entry[]> = {
  readonly [E in F[number] as E extends Sure ? NameOf<E[0]> : never]: Value<E>
} & { readonly [E in F[number] as E extends Sure ? never : NameOf<E[0]>]?: Value<E> }

interface Table<T, F> {
  readonly name: string
  readonly says: string
  readonly takes?: T
  readonly flags?: F
  /** The end of its help. */
  readonly help?: string
}

type Added = (program: Command) => void

export function command<const T extends readonly Entry[] = [], const F extends readonly Entry[] = []>({
  name,
  says,
  takes,
  flags,
  help = '',
}: Table<T, F>) {
  const addTo = (program: Command) => {
    const made = program.command(name).description(says).addHelpText('after', help)
    for (const entry of takes ?? []) made.addArgument(limited(made.createArgument(entry[0], entry[1]), entry))
    for (const entry of flags ?? []) made.addOption(limited(new Option(entry[0], entry[1]), entry))
    return made
  }
  type Run = (...given: [...Arguments<T>, FlagsOf<F>, Command]) => void | Promise<void>
  return {
    does:
      (run: Run): Added =>
      program =>
        void addTo(program).action(run as () => void),
    holds:
      (...commands: readonly Added[]): Added =>
      program => {
        const made = addTo(program)
        for (const add of commands) add(made)
      },
  }
}

function limited<M extends Argument | Option>(made: M, [, , how, otherwise]: Entry): M {
  const { choices, conflicts, default: fallback = otherwise } = typeof how === 'object' ? how : {}
  if (typeof how === 'function') made.argParser(how as never)
  if (choices) made.choices(choices)
  if (conflicts) (made as Option).conflicts(conflicts)
  if (fallback !== undefined) made.default(fallback)
  return made
}
