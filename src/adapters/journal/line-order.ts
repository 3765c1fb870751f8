/** Holds the lines of one journal against their numbers and checksums, in the order in which they were written. */
import type { EndedCall } from '../../ports/call-observer.js'
import type { JournalLine } from './journal-lines.js'

/** What is wrong with lines, whatever they say. */
export interface LineFlaw {
  readonly flaw: 'edited_line' | 'missing_lines' | 'doubled_line' | 'moved_line'
  readonly says: string
  /** The run of the line, where it has one. */
  readonly run?: EndedCall
  /** The start of the run, or of the one before it. 0 where there is none. */
  readonly atMs: number
}

export interface LineOrder {
  /** What is wrong with this line, as far as it can be known yet. */
  add(line: JournalLine): LineFlaw | undefined
  /** The gaps that no later line has filled. */
  end(): readonly LineFlaw[]
}

interface Gap {
  readonly from: number
  /** The number after the last one that is missing. */
  readonly to: number
  readonly atMs: number
}

/** Gaps that are remembered. A journal with more of them has been shuffled, and is said to be. */
const GAPS_MAX = 1_000

export function lineOrder(): LineOrder {
  let expected: number | undefined
  let gaps: Gap[] = []
  let atMs = 0

  function skipTo(number: number): void {
    if (expected !== undefined && number > expected && gaps.length < GAPS_MAX)
      gaps.push({ from: expected, to: number, atMs })
    if (expected === undefined || number > expected) expected = number
  }

  /** Whether this number was missed before: its gap is filled then. */
  function fills(number: number): boolean {
    const gap = gaps.find(({ from, to }) => number >= from && number < to)
    if (gap === undefined) return false
    const rest = [
      { ...gap, to: number },
      { ...gap, from: number + 1 },
    ].filter(({ from, to }) => from < to)
    gaps = gaps.flatMap(each => (each === gap ? rest : [each]))
    return true
  }

  return {
    add(line) {
      if (line.kind === 'unreadable') return undefined
      if (line.kind === 'head') {
        if (line.head.next !== undefined) skipTo(line.head.next)
        return line.intact
          ? undefined
          : { flaw: 'edited_line', says: 'the head of the file was changed', atMs }
      }
      // The head says that lines have no numbers: this journal comes from an audit page or an older version.
      if (expected === undefined) return undefined
      const run = line.kind === 'run' ? line.run : undefined
      atMs = run?.startedMs ?? atMs
      if (!line.intact || line.number === undefined) {
        // Its number proves as little as the rest of it: it counts as the line that belongs here.
        const says = `the line in place ${expected++} does not match its checksum`
        return { flaw: 'edited_line', says, run, atMs }
      }
      const { number } = line
      if (number >= expected) {
        skipTo(number)
        expected = number + 1
        return undefined
      }
      return fills(number)
        ? { flaw: 'moved_line', says: `line ${number} stands after line ${expected - 1}`, run, atMs }
        : { flaw: 'doubled_line', says: `line ${number} is there again`, run, atMs }
    },
    end: () =>
      gaps.map(({ from, to, atMs }) => {
        const says =
          to - from === 1 ? `line ${from} is not there` : `lines ${from} to ${to - 1} are not there`
        return { flaw: 'missing_lines', says, atMs }
      }),
  }
}
