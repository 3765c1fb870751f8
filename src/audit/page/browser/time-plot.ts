/** A plot over time: a column of stacked bars for each span. The browser lays it out, so it follows every width and every theme. */
import { byId, element } from './dom-elements.js'
import { moment } from './number-format.js'
import { type Spans, spansOf } from './statistics.js'

export interface Series {
  readonly label: string
  readonly color: string
  readonly values: readonly number[]
}

export interface PlotOptions {
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
