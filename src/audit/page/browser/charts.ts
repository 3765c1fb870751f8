/**
 * Plots over time and lists with a bar in each row. The browser lays them out, so they follow every width and every theme.
 */
import { byId, element } from './dom-elements.js'
import { moment } from './number-format.js'
import { type Spans, spansOf } from './statistics.js'

interface Series {
  readonly label: string
  readonly color: string
  readonly values: readonly number[]
}

interface PlotOptions {
  readonly print: (value: number) => string
  /** The height of a plot without bars. */
  readonly emptyMax: number
  readonly description: string
}

const VALUE_MARKS_MAX = 6
const TIME_MARKS_MAX = 8
/** Above the highest bar, so that it does not touch the upper edge. */
const SPARE = 1.1

/** The bars are stacked in the order of the series. */
export function plot(id: string, spans: Spans, series: readonly Series[], options: PlotOptions): void {
  const { beginsMs, widthMs } = spans
  const [fromMs, untilMs] = [beginsMs[0]!, beginsMs.at(-1)! + widthMs]
  const sums = beginsMs.map((_, at) => series.reduce((sum, { values }) => sum + values[at]!, 0))
  const top = Math.max(...sums) * SPARE || options.emptyMax
  const value = (mark: number) => {
    const line = element('div.value', element('span', options.print(mark)))
    line.style.bottom = percentOf(mark, top)
    return line
  }
  const time = ({ beginsMs, widthMs }: Spans) =>
    beginsMs.map(ms => {
      const mark = element('span.time', moment(ms, widthMs, untilMs - fromMs))
      mark.style.left = percentOf(ms - fromMs, untilMs - fromMs)
      return mark
    })
  const columns = beginsMs.map((ms, at) => {
    const present = series.filter(({ values }) => values[at]! > 0)
    const bars = present.map(({ color, values }) => {
      const bar = element(`i.fill.${color}`)
      bar.style.height = percentOf(values[at]!, top)
      return bar
    })
    const column = element('div.column', ...bars)
    const told = present.map(({ label, values }) => `${label} ${options.print(values[at]!)}`)
    column.title = [moment(ms, widthMs, untilMs - fromMs), ...told].join('\n')
    return column
  })
  const place = byId(id)
  place.setAttribute('aria-label', options.description)
  place.replaceChildren(
    ...valueMarks(top).map(value),
    element('div.columns', ...columns),
    ...time(timeMarks(fromMs, untilMs)),
  )
}

export interface Bar {
  readonly name: string
  readonly value: number
  readonly text: string
  readonly label: string
  readonly color?: string
}

/** The largest few of a list, each with a bar of its share, and the rest as one. */
export function bars(id: string, all: readonly Bar[], most: number, onChoose?: (name: string) => void): void {
  const sorted = [...all].sort((a, b) => b.value - a.value)
  const largest = sorted[0]?.value || 1
  const rows = sorted.slice(0, most).map(({ name, value, text, label, color = 'accent' }) => {
    const bar = element(`i.fill.${color}`)
    bar.style.width = `${Math.max(1, (100 * value) / largest)}%`
    const shown = element(onChoose ? 'button.name.plain' : 'span.name.fixed', label)
    shown.title = name
    if (onChoose) shown.addEventListener('click', () => onChoose(name))
    return element('li', shown, element('b', text), element('span.track', bar))
  })
  const others = sorted.length - rows.length
  const more = others > 0 ? [element('li.note', `and ${others} more`)] : []
  const none = rows.length === 0 ? [element('li.note', 'No income in these calls.')] : []
  redrawn(id, [...rows, ...more, ...none])
}

/** A row that is drawn anew would lose the focus of the keyboard. */
export function redrawn(id: string, rows: readonly HTMLElement[]): void {
  const place = byId(id)
  const focused = [...place.querySelectorAll('button')].indexOf(document.activeElement as HTMLButtonElement)
  place.replaceChildren(...rows)
  place.querySelectorAll('button')[focused]?.focus()
}

function valueMarks(top: number): number[] {
  const powers = Array.from({ length: 16 }, (_, power) => 10 ** power)
  const step = powers
    .flatMap(power => [power, 2 * power, 5 * power])
    .find(each => top / each < VALUE_MARKS_MAX)!
  return Array.from({ length: Math.floor(top / step) + 1 }, (_, at) => at * step)
}

function timeMarks(fromMs: number, untilMs: number): Spans {
  const marks = spansOf(fromMs, untilMs, TIME_MARKS_MAX)
  return { ...marks, beginsMs: marks.beginsMs.filter(ms => ms >= fromMs && ms <= untilMs) }
}

function percentOf(part: number, whole: number): string {
  return `${(100 * part) / whole}%`
}
