/** The list of runs, newest first. Only visible rows have elements, so ten thousand runs need no more than twenty. */
import type { RunView } from '../page-events.js'
import { wordsOf } from '../step-words.js'
import { byId, element } from './dom-elements.js'
import { duration, timeOfDay, usd } from './number-format.js'
import { classOf } from './run-detail.js'

const ROW_PX = 50
/** Extra rows above and below the visible ones, so that a slow scroll shows no empty space. */
const SPARE = 6

export class RunList {
  readonly #list = byId('list')
  readonly #spacer = byId('spacer')
  /** The chosen run, by id: a new connection brings the same runs as other objects. */
  #rows: ReadonlyMap<string, HTMLElement> = new Map()
  #runs: readonly RunView[] = []
  #chosen: RunView | undefined

  constructor(readonly onChoose: (run: RunView | undefined) => void) {
    this.#list.addEventListener('scroll', () => this.#draw(), { passive: true })
    new ResizeObserver(() => this.#draw()).observe(this.#list)
    this.#list.addEventListener('click', event => {
      const row = (event.target as Element).closest<HTMLElement>('[role=option]')
      if (row) this.choose(this.#runs.find(({ id }) => id === row.dataset.id))
    })
    this.#list.addEventListener('keydown', event => this.#key(event))
  }

  /** `added` is the number of runs that are new since the last call. If the user has scrolled, the same rows stay visible. */
  show(runs: readonly RunView[], added: number): void {
    this.#runs = runs
    this.#spacer.style.height = `${runs.length * ROW_PX}px`
    if (added > 0 && this.#list.scrollTop > 0) this.#list.scrollTop += added * ROW_PX
    this.#draw()
  }

  get chosen(): RunView | undefined {
    return this.#chosen
  }

  choose(run: RunView | undefined): void {
    this.#chosen = run
    this.#draw()
    this.onChoose(run)
  }

  open(run: RunView): void {
    this.choose(run)
    // Its details take a part of the list's height.
    const place = this.#placeOf(run)
    if (place >= 0) this.#reveal(place)
  }

  focus(): void {
    this.#list.focus()
  }

  #key(event: KeyboardEvent): void {
    const last = this.#runs.length - 1
    const page = Math.max(1, Math.floor(this.#list.clientHeight / ROW_PX) - 1)
    const at = this.#placeOf(this.#chosen)
    const places: Readonly<Record<string, number>> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + page,
      PageUp: at - page,
      Home: 0,
      End: last,
    }
    const place = places[event.key]
    if (place === undefined || last < 0) return
    event.preventDefault()
    const row = Math.min(last, Math.max(0, place))
    this.#reveal(row)
    this.choose(this.#runs[last - row])
  }

  /** -1 where no run is chosen, or the filters hide it. */
  #placeOf(run: RunView | undefined): number {
    const at = this.#runs.findIndex(({ id }) => id === run?.id)
    return at === -1 ? -1 : this.#runs.length - 1 - at
  }

  #reveal(row: number): void {
    const { scrollTop, clientHeight } = this.#list
    if (row * ROW_PX < scrollTop) this.#list.scrollTop = row * ROW_PX
    else if ((row + 1) * ROW_PX > scrollTop + clientHeight)
      this.#list.scrollTop = (row + 1) * ROW_PX - clientHeight
  }

  #draw(): void {
    const { scrollTop, clientHeight } = this.#list
    const first = Math.max(0, Math.floor(scrollTop / ROW_PX) - SPARE)
    const end = Math.min(this.#runs.length, Math.ceil((scrollTop + clientHeight) / ROW_PX) + SPARE)
    const drawn = new Map<string, HTMLElement>()
    for (let row = first; row < end; row++) {
      const run = this.#runs[this.#runs.length - 1 - row]!
      const place = this.#rows.get(run.id) ?? rowOf(run)
      place.className = `row ${classOf(run)}`
      place.style.transform = `translateY(${row * ROW_PX}px)`
      place.setAttribute('aria-selected', String(run.id === this.#chosen?.id))
      place.setAttribute('aria-posinset', String(row + 1))
      place.setAttribute('aria-setsize', String(this.#runs.length))
      drawn.set(run.id, place)
    }
    // Keep the elements in their visible order: screen readers read them in this order.
    const same = drawn.size === this.#rows.size && [...drawn.keys()].every(id => this.#rows.has(id))
    if (!same) this.#spacer.replaceChildren(...drawn.values())
    this.#rows = drawn
    const chosen = this.#chosen && drawn.get(this.#chosen.id)
    if (chosen) this.#list.setAttribute('aria-activedescendant', chosen.id)
    else this.#list.removeAttribute('aria-activedescendant')
  }
}

function rowOf(run: RunView): HTMLElement {
  const { id, endpoint, status, final, charged, startedMs, ms, amount, units, mismatch } = run
  const took = charged === 'yes' ? amount : units?.used
  const moved = took === undefined ? '' : usd(BigInt(took))
  const row = element(
    'div',
    element(`span.status.s${String(status)[0]}`, String(status)),
    element('span.endpoint', endpoint),
    element('span.amount', moved),
    element(
      'span.final.note',
      mismatch === undefined ? wordsOf(final) : `${wordsOf(final)}, but the facilitator named another`,
    ),
    element('span.when.note', `${timeOfDay(startedMs)} · ${duration(ms)}`),
  )
  row.id = `run-${id}`
  row.dataset.id = id
  row.setAttribute('role', 'option')
  return row
}
