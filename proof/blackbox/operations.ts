/**
 * A history as a file that others can check: one JSON object a line, with the fields that Jepsen's checkers read (`index`, `time` in
 * nanoseconds, `process`, `type`, `f`), beside the fields of `history.ts`. The last line is what the chain shows.
 */
import { isNo, type Transfer } from './checker.js'
import type { Got, Line, Lost, Sent } from './history.js'

export interface Operation {
  readonly index: number
  readonly time: number
  /** Each request is a process of its own: none waits for another. */
  readonly process: number | 'buyer' | 'nemesis' | 'chain'
  /** `fail`: it did certainly not happen. `info`: nobody knows. */
  readonly type: 'invoke' | 'ok' | 'fail' | 'info'
  /** `ask` without a payment, `pay` with one, `use` of a window or a balance. */
  readonly f: 'ask' | 'pay' | 'use' | 'agree' | 'break' | 'read'
  readonly value: unknown
}

export function* operations(lines: readonly Line[], transfers: readonly Transfer[]): Generator<Operation> {
  const begunMs = lines[0]?.atMs ?? 0
  const asked = new Map<number, Operation['f']>()
  let index = 0
  const at = (atMs: number) => ({ index: index++, time: (atMs - begunMs) * 1_000_000 })
  for (const line of lines) {
    const { atMs, ...value } = line
    if (line.what === 'sent') asked.set(line.exchange, kindOf(line))
    if (line.what === 'deed') yield { ...at(atMs), process: 'nemesis', type: 'info', f: 'break', value }
    else if (line.what === 'agreed') yield { ...at(atMs), process: 'buyer', type: 'info', f: 'agree', value }
    else
      yield {
        ...at(atMs),
        ...{ process: line.exchange, type: typeOf(line), f: asked.get(line.exchange)!, value },
      }
  }
  yield { ...at(lines.at(-1)?.atMs ?? 0), process: 'chain', type: 'ok', f: 'read', value: transfers }
}

type Ended = Sent | Got | Lost

function kindOf({ payment, window, balance }: Pick<Sent, 'payment' | 'window' | 'balance'>): Operation['f'] {
  return payment !== undefined ? 'pay' : window !== undefined || balance !== undefined ? 'use' : 'ask'
}

function typeOf(line: Ended): Operation['type'] {
  if (line.what === 'sent') return 'invoke'
  if (line.what === 'lost') return 'info'
  return line.status === 200 ? 'ok' : isNo(line) ? 'fail' : 'info'
}
