/** The drawing of the machine as lanes: how often each of its moves was taken, and the path of one run. The browser lays it out. */
import type { Hello, RunView } from '../page-events.js'
import { wordsOf } from '../step-words.js'
import { button, byId, element } from './dom-elements.js'
import { count, duration } from './number-format.js'
import { percentile } from './statistics.js'

interface Flow {
  readonly calls: number
  readonly medianMs: number
}

const NONE: Flow = { calls: 0, medianMs: 0 }
const FLOW_PX_MAX = 12
const FLOW_PX_MIN = 1.5

export class Drawing {
  readonly #place = byId('drawing')
  readonly #all = byId<HTMLInputElement>('unused')
  #hello: Hello | undefined
  #lanes: MachineLanes = []
  #flows: ReadonlyMap<string, Flow> = new Map()
  #run: RunView | undefined

  constructor(readonly onFinal: (final: string) => void) {
    this.#all.addEventListener('change', () => this.#draw())
  }

  begin(hello: Hello): void {
    this.#hello = hello
    this.#lanes = machineLanes(hello.machine)
  }

  tell(runs: readonly RunView[]): void {
    const { steps = [] } = this.#hello ?? {}
    const timesMs: number[][] = steps.map(() => [])
    for (const { path, timingsMs } of runs)
      for (const [at, step] of path.entries()) timesMs[step]!.push(timingsMs[at] ?? 0)
    const flowOf = (times: number[]) => ({
      calls: times.length,
      medianMs: percentile(Float64Array.from(times).sort(), 0.5),
    })
    this.#flows = new Map(timesMs.map((times, at) => [steps[at]!, times.length === 0 ? NONE : flowOf(times)]))
    this.#draw()
  }

  light(run: RunView | undefined): void {
    this.#run = run
    this.#draw()
    // On a phone the whole page would scroll, and the list would go out of view. So scroll only the drawing beside the list.
    const end = [...this.#place.querySelectorAll('.lit')].at(-1)
    if (matchMedia('(min-width: 901px)').matches) end?.scrollIntoView({ block: 'nearest' })
  }

  #flowOf(step: string): Flow {
    return this.#flows.get(step) ?? NONE
  }

  #draw(): void {
    const { machine, steps = [] } = this.#hello ?? {}
    if (machine === undefined) return
    const lit = new Set(this.#run?.path.map(step => steps[step]!))
    const most = Math.max(1, ...[...this.#flows.values()].map(({ calls }) => calls))
    const callsOf = (moves: readonly Move[]) =>
      moves.reduce((sum, { step }) => sum + this.#flowOf(step).calls, 0)
    const look = (moves: readonly Move[]) =>
      `${callsOf(moves) > 0 ? 'used' : 'unused'}${moves.some(({ step }) => lit.has(step)) ? ' lit' : ''}`
    const isShown = (move: Move) => this.#all.checked || look([move]) !== 'unused'
    const texts = ({ step, event }: Move) => {
      const { calls, medianMs } = this.#flowOf(step)
      const stat = calls === 0 ? '' : `${count(calls)} · ${duration(medianMs)}`
      const named = element('span.event', event)
      named.title = wordsOf(step)
      return [named, ' ', element('span.stat', stat)]
    }
    const exit = (move: Move) => {
      const { status, charged } = machine.rows[move.to]!.meta
      const end = element(
        'span.end',
        element('b', String(status)),
        ' ',
        element('span.name', wordsOf(move.to)),
      )
      const drawn = button('', () => this.onFinal(move.to))
      drawn.className = `plain exit ${charged} ${look([move])}`
      drawn.dataset.step = move.step
      drawn.dataset.final = move.to
      drawn.append(end, ...texts(move))
      return element('li', drawn)
    }
    const step = (move: Move, ...more: readonly Node[]) => {
      const drawn = element(`li.move.${look([move])}`, ...texts(move), ...more)
      drawn.dataset.step = move.step
      return drawn
    }
    const fold = (folded: number) => {
      const drawn = button(`+ ${folded} unused`, () => this.#all.click())
      drawn.className = 'plain fold note'
      return element('li', drawn)
    }
    const state = ({ name, exits, branches, onwards }: MachineLanes[number]['main']) => {
      const shown = exits.filter(isShown)
      return element(
        'div.state',
        element(
          `div.box.${look([...exits, ...branches, ...onwards])}`,
          element('b.name', name),
          element('span.note', wordsOf(name)),
        ),
        element(
          'ul.ways',
          ...branches.map(move => step(move, element('b.to', `→ ${move.to}`))),
          ...shown.map(exit),
          ...(shown.length < exits.length ? [fold(exits.length - shown.length)] : []),
        ),
      )
    }
    const focused = (document.activeElement as HTMLElement | null)?.dataset.step
    const { scrollTop } = this.#place
    this.#place.classList.toggle('lighting', this.#run !== undefined)
    this.#place.replaceChildren(
      ...this.#lanes.map(({ main, sides }) => {
        const onwards = element('ul.onwards', ...main.onwards.map(move => step(move)))
        const flow = element(`div.flow-line.${look(main.onwards)}`)
        flow.style.width = `${Math.max(FLOW_PX_MIN, (FLOW_PX_MAX * callsOf(main.onwards)) / most)}px`
        const isEnd = main.onwards.length === 0
        return element('section.lane', state(main), ...(isEnd ? [] : [flow, onwards]), ...sides.map(state))
      }),
    )
    this.#place.scrollTop = scrollTop
    if (focused !== undefined)
      this.#place.querySelector<HTMLElement>(`button[data-step="${focused}"]`)?.focus({ preventScroll: true })
  }
}

type Machine = Pick<Hello['machine'], 'initial' | 'rows'>

export interface Move {
  readonly step: string
  readonly event: string
  readonly to: string
}

type MachineLanes = ReturnType<typeof machineLanes>

function machineLanes(machine: Machine) {
  const { rows } = machine
  const order = inOrder(machine)
  const places = new Map(order.map((state, at) => [state, at]))
  // A state is aside where a move passes it.
  const isMain = (lane: number) =>
    !order.some((state, from) =>
      Object.values(rows[state]!.on).some(to => from < lane && lane < (places.get(to) ?? -1)),
    )
  const mains = order.filter((_, lane) => isMain(lane))
  /** Its moves to final states (`exits`), to the state of the next lane (`onwards`), and all others. */
  const laneState = (name: string, next?: string) => {
    const moves = Object.entries(rows[name]!.on).map(([event, to]) => ({
      step: `${name}.${event}`,
      event,
      to,
    }))
    const [exits, others] = [true, false].map(ends => moves.filter(({ to }) => rows[to]!.final === ends))
    const [onwards, branches] = [true, false].map(is => others!.filter(({ to }) => (to === next) === is))
    return { name, exits: exits!, onwards: onwards!, branches: branches! }
  }
  return mains.map((name, at) => {
    const sides = order.slice(places.get(name)! + 1, places.get(mains[at + 1] ?? '') ?? order.length)
    return { main: laneState(name, mains[at + 1]), sides: sides.map(side => laneState(side)) }
  })
}

/** Sorts states by the longest path from the initial state; of equals, those without a next state come first. */
function inOrder({ initial, rows }: Machine): string[] {
  const depths = new Map<string, number>()
  const visit = (state: string, depth: number): void => {
    if (rows[state]!.final || depth <= (depths.get(state) ?? -1)) return
    depths.set(state, depth)
    for (const to of Object.values(rows[state]!.on)) visit(to, depth + 1)
  }
  visit(initial, 0)
  const goesOn = (state: string) => Object.values(rows[state]!.on).some(to => !rows[to]!.final)
  return [...depths.keys()].sort(
    (a, b) => depths.get(a)! - depths.get(b)! || Number(goesOn(a)) - Number(goesOn(b)),
  )
}
