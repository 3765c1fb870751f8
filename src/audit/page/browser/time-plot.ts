/** A plot over time: stacked bars, drawn by uPlot in the colours of the page. */
import uPlot from 'uplot'
import { byId, element } from './dom-elements.js'
import { moment } from './number-format.js'
import type { Spans } from './statistics.js'

export interface PlotOptions {
  readonly series: readonly { readonly label: string; readonly color: string }[]
  /** Prints a value, in the axis and under the pointer. */
  readonly print: (value: number) => string
  /** The height of a plot without bars. */
  readonly emptyMax?: number
}

type Values = readonly (readonly number[])[]

const FONT = '11px ui-sans-serif, system-ui, sans-serif'
export class TimePlot {
  readonly #place: HTMLElement
  readonly #tip = element('div', 'tip-box')
  #plot: uPlot | undefined
  #spans: Spans | undefined
  #values: Values = []

  constructor(
    id: string,
    readonly options: PlotOptions,
  ) {
    this.#place = byId(id)
    new ResizeObserver(() => {
      const { clientWidth: width, clientHeight: height } = this.#place
      if (this.#plot && width > 0) this.#plot.setSize({ width, height })
      else this.#make()
    }).observe(this.#place)
    // A canvas does not follow the page's colours by itself.
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#make())
  }

  /** One row of values for each series, one value for each span. The bars are stacked in the order of the series. */
  show(spans: Spans, values: Values, description: string): void {
    const isSameScale = this.#spans?.widthMs === spans.widthMs
    this.#spans = spans
    this.#values = values
    this.#place.setAttribute('aria-label', description)
    if (this.#plot && isSameScale) this.#plot.setData(this.#data())
    else this.#make()
  }

  #make(): void {
    this.#plot?.destroy()
    this.#plot = undefined
    const { clientWidth: width, clientHeight: height } = this.#place
    if (width === 0 || this.#spans === undefined) return
    const style = getComputedStyle(document.documentElement)
    const color = (name: string) => style.getPropertyValue(`--${name}`).trim()
    const { series, print, emptyMax = 1 } = this.options
    const axis = { stroke: color('muted'), font: FONT, ticks: { show: false }, gap: 6 }
    const grid = { stroke: color('hair'), width: 1 }
    this.#plot = new uPlot(
      {
        width,
        height,
        ms: 1,
        padding: [10, 22, 0, 0],
        legend: { show: false },
        cursor: {
          y: false,
          points: { show: false },
          drag: { setScale: false, x: false, y: false },
        },
        scales: {
          x: { range: () => this.#range() },
          y: { range: (_, __, max) => [0, max > 0 ? max * 1.12 : emptyMax] },
        },
        axes: [
          {
            ...axis,
            grid: { show: false },
            size: 28,
            space: 74,
            values: (_, marks, __, ___, stepMs) => {
              const [from, until] = this.#range()
              return marks.map(mark => moment(mark, stepMs, until - from))
            },
          },
          {
            ...axis,
            grid,
            size: 54,
            space: 30,
            incrs: WHOLE,
            values: (_, marks) => marks.map(print),
          },
        ],
        series: [
          {},
          ...[...series].reverse().map(({ color: name }) => ({
            fill: color(name),
            width: 0,
            points: { show: false },
            paths: uPlot.paths.bars!({ size: [0.82, 44], align: 1, radius: 0.12 }),
          })),
        ],
        hooks: { setCursor: [plot => this.#tell(plot)] },
      },
      this.#data(),
      this.#place,
    )
    this.#tip.hidden = true
    this.#plot.over.append(this.#tip)
  }

  #range(): [number, number] {
    const { beginsMs, widthMs } = this.#spans!
    return [beginsMs[0]!, beginsMs.at(-1)! + widthMs]
  }

  #data(): uPlot.AlignedData {
    const xs = [...this.#spans!.beginsMs]
    const sums = xs.map(() => 0)
    const stacked = this.#values.map(row =>
      row.map((value, at) => {
        sums[at]! += value
        return sums[at]!
      }),
    )
    return [xs, ...stacked.reverse()]
  }

  /** What the span under the pointer holds. */
  #tell(plot: uPlot): void {
    const { left = -1 } = plot.cursor
    const spans = this.#spans!
    const at = left < 0 ? -1 : spans.at(plot.posToVal(left, 'x'))
    const values = this.options.series.flatMap(({ label, color }, row) => {
      const value = this.#values[row]?.[at]
      return value
        ? [element('p', `key ${color}`, `${label} `, element('b', '', this.options.print(value)))]
        : []
    })
    this.#tip.hidden = values.length === 0
    if (this.#tip.hidden) return
    const [from, until] = this.#range()
    const time = moment(spans.beginsMs[at]!, spans.widthMs, until - from)
    this.#tip.replaceChildren(element('p', 'when', time), ...values)
    const room = plot.over.clientWidth - this.#tip.offsetWidth
    this.#tip.style.left = `${Math.max(0, Math.min(left + 12, room))}px`
  }
}

/** Calls and base units are counted: between two of them is nothing to mark. */
const WHOLE = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map(times => times * 10 ** power)).flat()
