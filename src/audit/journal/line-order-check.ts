/** Checks the numbers and checksums of a journal's lines, in the order in which they were written. */
import type { EndedCall } from '../../ports/call-observer.js'
import type { JournalLine } from './line-format.js'

export interface LineFlaw {
  readonly flaw: 'edited_line' | 'missing_lines' | 'doubled_line' | 'moved_line'
  readonly says: string
  readonly run?: EndedCall
  /** The start of the run, or of the run before it; 0 where there is none. */
  readonly atMs: number
}

interface Gap {
  readonly from: number
  /** The number after the last one that is missing. */
  readonly to: number
  readonly atMs: number
}

/** Gaps that are remembered. A journal with more of them has been shuffled, and that is reported. */
const GAPS_MAX = 1_000

export function lineOrder() {
  let expected: number | undefined
  let gaps: Gap[] = []
  let atMs = 0

  function skipTo(number: number): void {
    if (expected !== undefined && number > expected && gaps.length < GAPS_MAX)
      gaps.push({ from: expected, to: number, atMs })
    if (expected === undefined || number > expected) expected = number
  }

  /** Whether this number lies in a gap; if so, removes it from the gap. */
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
    /** The flaw of this line, as far as the lines so far show it. */
    add(line: JournalLine): LineFlaw | undefined {
      if (line.kind === 'unreadable' && line.number === undefined) return undefined
      if (line.kind === 'header') {
        if (line.header.next !== undefined) skipTo(line.header.next)
        return line.intact
          ? undefined
          : { flaw: 'edited_line', says: 'the head of the file was changed', atMs }
      }
      // No header states a number: the journal comes from an audit page, without line numbers.
      if (expected === undefined) return undefined
      const run = line.kind === 'run' ? line.run : undefined
      atMs = run?.startedMs ?? atMs
      if (!line.intact || line.number === undefined) {
        // The number of a changed line proves nothing: the line counts as the one that belongs here.
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
    end: (): readonly LineFlaw[] =>
      gaps.map(({ from, to, atMs }) => {
        const says =
          to - from === 1 ? `line ${from} is not there` : `lines ${from} to ${to - 1} are not there`
        return { flaw: 'missing_lines', says, atMs }
      }),
  }
}
