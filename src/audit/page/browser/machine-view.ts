/** The drawing of the machine: how many calls took each of its moves, and the path of one run. */
import type { Hello, RunView } from '../page-events.js'
import { byId, svg } from './dom-elements.js'
import {
  BOX,
  EXIT,
  FLOW_WIDTH_MAX,
  lanesOf,
  type PlacedExit,
  type PlacedLink,
  type PlacedState,
} from './machine-layout.js'
import { count, duration } from './number-format.js'
import { percentile } from './statistics.js'

interface Flow {
  readonly calls: number
  readonly medianMs: number
}

const NONE: Flow = { calls: 0, medianMs: 0 }

export class Drawing {
  readonly #place = byId('drawing')
  readonly #all = byId<HTMLInputElement>('unused')
  #hello: Hello | undefined
  #flows: readonly Flow[] = []
  #places: ReadonlyMap<string, number> = new Map()
  #run: RunView | undefined

  constructor(onFinal: (final: string) => void) {
    this.#all.addEventListener('change', () => this.#draw())
    new ResizeObserver(() => this.#draw()).observe(this.#place)
    this.#place.addEventListener('click', event => {
      const target = event.target as Element
      const final = target.closest<SVGElement>('.exit')?.dataset.final
      if (final !== undefined) onFinal(final)
      if (target.closest('.fold')) {
        this.#all.checked = true
        this.#draw()
      }
    })
  }

  begin(hello: Hello): void {
    this.#hello = hello
    this.#places = new Map(hello.steps.map((step, at) => [step, at]))
  }

  tell(runs: readonly RunView[]): void {
    if (this.#hello === undefined) return
    const timesMs: number[][] = this.#hello.steps.map(() => [])
    for (const { path, timingsMs } of runs)
      for (const [at, step] of path.entries()) timesMs[step]!.push(timingsMs[at] ?? 0)
    this.#flows = timesMs.map(times =>
      times.length === 0
        ? NONE
        : { calls: times.length, medianMs: percentile(Float64Array.from(times).sort(), 0.5) },
    )
    this.#draw()
  }

  light(run: RunView | undefined): void {
    this.#run = run
    this.#draw()
    // On a phone the whole page would scroll, and the list would go out of view. So scroll only the drawing beside the list.
    const end = this.#place.querySelector('.exit.lit, .state.lit:last-of-type')
    if (matchMedia('(min-width: 901px)').matches) end?.scrollIntoView({ block: 'nearest' })
  }

  #flowOf(step: string): Flow {
    return this.#flows[this.#places.get(step)!] ?? NONE
  }

  #draw(): void {
    const width = this.#place.clientWidth
    if (this.#hello === undefined || width === 0) return
    const { machine, steps } = this.#hello
    const lit = new Set(this.#run?.path.map(step => steps[step]!))
    const isShown = (step: string) => this.#all.checked || lit.has(step) || this.#flowOf(step).calls > 0
    const { height, states, exits, links, folds } = lanesOf(machine, { width, isShown })
    const most = Math.max(1, ...this.#flows.map(({ calls }) => calls))
    const look = (steps: readonly string[]): Look => {
      const calls = steps.reduce((sum, step) => sum + this.#flowOf(step).calls, 0)
      const classes = [calls > 0 ? 'used' : 'unused', ...(steps.some(step => lit.has(step)) ? ['lit'] : [])]
      return { classes: classes.join(' '), width: Math.max(1.5, (FLOW_WIDTH_MAX * calls) / most) }
    }
    const stat = (step: string) => {
      const { calls, medianMs } = this.#flowOf(step)
      return calls === 0 ? '' : `${count(calls)} · ${duration(medianMs)}`
    }
    const stepsOf = (state: string) => Object.keys(machine.rows[state]!.on).map(event => `${state}.${event}`)
    const drawing = svg(
      'svg',
      {
        width,
        height,
        viewBox: `0 0 ${width} ${height}`,
        role: 'img',
        'aria-label': `The ${machine.id} machine`,
      },
      ...links.map(link => drawnLink(link, look(link.steps.map(({ step }) => step)))),
      // SVG draws later elements above earlier ones: thick lines first, so that thin ones stay visible, and the chosen run last.
      ...exits
        .map(exit => ({ exit, seen: look([exit.step]) }))
        .sort(
          (a, b) =>
            Number(lit.has(a.exit.step)) - Number(lit.has(b.exit.step)) || b.seen.width - a.seen.width,
        )
        .map(({ exit, seen }) => drawnExit(exit, seen, stat(exit.step), machine.rows[exit.to]!.meta)),
      ...states.map(state => drawnState(state, look(stepsOf(state.name)))),
      ...links.flatMap(({ steps, x }) =>
        steps.map(({ step, event, y }) => drawnMove(step, event, x, y, look([step]), stat(step))),
      ),
      ...folds.map(({ count, x, y }) => svg('text', { class: 'fold', x, y }, `+ ${count} unused`)),
    )
    drawing.classList.toggle('lighting', this.#run !== undefined)
    const { scrollTop } = this.#place
    this.#place.replaceChildren(drawing)
    this.#place.scrollTop = scrollTop
  }
}

interface Look {
  readonly classes: string
  readonly width: number
}

function drawnState({ name, effect, x, y }: PlacedState, { classes }: Look): SVGElement {
  return svg(
    'g',
    { class: `state ${classes}`, 'data-state': name },
    svg('rect', { x, y, width: BOX.width, height: BOX.height, rx: 10 }),
    svg('text', { class: 'name', x: x + 14, y: y + 20 }, name),
    svg('text', { class: 'effect', x: x + 14, y: y + 36 }, effect),
  )
}

function drawnLink({ line, tip }: PlacedLink, look: Look): SVGElement {
  return svg('g', { class: `link ${look.classes}` }, ...arrow(line, tip, look.width))
}

function drawnMove(
  step: string,
  event: string,
  x: number,
  y: number,
  { classes }: Look,
  stat: string,
): SVGElement {
  return svg(
    'text',
    { class: `move ${classes}`, 'data-step': step, x, y },
    svg('tspan', { class: 'event' }, event),
    svg('tspan', { class: 'stat', dx: 7 }, stat),
  )
}

function drawnExit(
  { step, event, to, x, y, line }: PlacedExit,
  { classes, width }: Look,
  stat: string,
  { status, charged }: Readonly<Record<string, unknown>>,
): SVGElement {
  const top = y + EXIT.pillTop
  return svg(
    'g',
    { class: `exit ${charged} ${classes}`, 'data-step': step, 'data-final': to },
    ...arrow(line, { x: x + 12, y: top }, Math.min(width, FLOW_WIDTH_MAX / 2)),
    svg('text', { class: 'event', x: x + 22, y: y + 20 }, event),
    svg('rect', { x, y: top, width: EXIT.width - 10, height: EXIT.pillHeight, rx: 12 }),
    svg(
      'text',
      { class: 'name', x: x + 10, y: top + 16 },
      svg('tspan', { class: 'status' }, String(status)),
      ` ${to}`,
    ),
    svg('text', { class: 'stat', x: x + 11, y: top + EXIT.pillHeight + 14 }, stat),
  )
}

function arrow(line: string, { x, y }: PlacedLink['tip'], width: number): SVGElement[] {
  const half = Math.max(4, width / 2 + 2)
  return [
    svg('path', { class: 'line', d: line, 'stroke-width': width }),
    svg('path', { class: 'tip', d: `M${x - half},${y - 7}L${x + half},${y - 7}L${x},${y}Z` }),
  ]
}
