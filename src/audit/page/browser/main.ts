/** The page's program: it receives the server's events and draws their content. */
import type { AuditEvents, Hello, Totals } from '../page-events.js'
import { button, byId, element, say } from './dom-elements.js'
import { Filters } from './filters.js'
import { Drawing } from './machine-view.js'
import { count, dateAndMinute, TIME_ZONE, usd } from './number-format.js'
import { Overview } from './overview.js'
import { clock } from './page-clock.js'
import { Runs } from './run-collection.js'
import { showDetail } from './run-detail.js'
import { RunList } from './run-list.js'
import { csvOf } from './shown-csv.js'

/** Sums over ten thousand runs take some milliseconds: at most one redraw in this time. */
const REDRAW_MS = 500
/** A period ends now, so its oldest calls leave it also while nothing happens. */
const PERIOD_CHECK_MS = 15_000

const runs = new Runs()
let hello: Hello | undefined
/** Told after all that was before: until then the page would show a part of it. */
let totals: Totals | undefined
let redrawing: (() => void) | undefined
let redrawnMs = Number.NEGATIVE_INFINITY

const list = new RunList(run => {
  drawing.light(run)
  showDetail(run, hello, close)
  // The address in the browser can be shared: it opens this call.
  if (isCallsView()) history.replaceState(null, '', run ? linkOf(run) : '#calls')
})
const filters = new Filters(filter => {
  runs.filter(filter)
  byId('list').scrollTop = 0
  show(0)
})
const drawing = new Drawing(final => filters.toggle('final', final))
const overview = new Overview(
  (name, value) => (name === 'payer' ? filters.seek(value) : filters.toggle(name, value)),
  run => {
    location.hash = linkOf(run)
  },
)

function close(): void {
  list.choose(undefined)
  list.focus()
}

document.addEventListener('keydown', event => {
  if (event.key === 'Escape' && list.chosen !== undefined) close()
})

byId('csv').addEventListener('click', () => {
  const link = element('a') as HTMLAnchorElement
  link.href = URL.createObjectURL(new Blob([csvOf(runs.shown)], { type: 'text/csv' }))
  link.download = 'calls.csv'
  link.click()
  URL.revokeObjectURL(link.href)
})

function isCallsView(): boolean {
  return location.hash === '#calls' || location.hash.startsWith('#call/')
}

function linkOf({ id }: { readonly id: string }): string {
  return `#call/${encodeURIComponent(id)}`
}

/** Opens the call that the address names, as soon as it is here. */
function openLinked(): void {
  const linked = runs.all.find(run => linkOf(run) === location.hash)
  if (linked && linked.id !== list.chosen?.id) list.open(linked)
}

function showView(): void {
  const isCalls = isCallsView()
  openLinked()
  byId('overview').hidden = isCalls
  byId('calls').hidden = !isCalls
  byId('to-overview').ariaCurrent = isCalls ? null : 'page'
  byId('to-calls').ariaCurrent = isCalls ? 'page' : null
  redraw()
}
window.addEventListener('hashchange', showView)

const events = new EventSource('audit/events')
on('hello', told => {
  hello = told
  totals = undefined
  runs.begin(told)
  drawing.begin(told)
  filters.begin(told)
  runs.filter(filters.chosen)
  say('agent', told.agent)
  say('network', told.network)
  document.title = `${told.agent} · audit`
})
on('runs', told => {
  const added = runs.add(told)
  if (totals === undefined) return
  show(added)
  openLinked()
})
on('decided', told => {
  runs.decide(told)
  show(0)
  const chosen = runs.shown.find(({ id }) => id === list.chosen?.id)
  if (chosen) list.choose(chosen)
})
on('totals', told => {
  const isFirst = totals === undefined
  totals = told
  const { calls, charged, taken } = told
  say(
    'totals',
    `Since the server began: ${count(calls)} calls, ${count(charged)} charged, ${usd(BigInt(taken))}.`,
  )
  if (!isFirst) return redrawSoon()
  show(0)
  redraw()
  openLinked()
  live('live')
  document.body.classList.remove('loading')
})
// EventSource connects again by itself, and the server then sends its first event again. The page keeps its content until then.
events.addEventListener('error', () => live('no connection, trying again'))
clock.every(PERIOD_CHECK_MS, () => {
  if (filters.chosen.periodMs === 0) return
  runs.filter(filters.chosen)
  show(0)
})
say('zone', `Times are in ${TIME_ZONE}.`)
showView()

function on<E extends keyof AuditEvents>(name: E, listener: (data: AuditEvents[E]) => void): void {
  events.addEventListener(name, event => listener(JSON.parse((event as MessageEvent<string>).data)))
}

function live(text: string): void {
  say('live', text)
  byId('live').className = text === 'live' ? 'yes' : 'maybe'
}

function show(added: number): void {
  list.show(runs.shown, added)
  const hidden = runs.quotesHidden === 0 ? '' : `, ${count(runs.quotesHidden)} quotes hidden`
  const { partSinceMs } = runs
  const kept = partSinceMs === undefined ? '' : `, kept since ${dateAndMinute(partSinceMs)}`
  say('shown', `${count(runs.shown.length)} of ${count(runs.known)} calls${hidden}${kept}`)
  showEmpty()
  redrawSoon()
}

/** Says why there is nothing to see, and offers the way out. */
function showEmpty(): void {
  const { known, quotesHidden } = runs
  const isEmpty = runs.shown.length === 0
  byId('empty').hidden = !isEmpty
  document.body.classList.toggle('without-calls', isEmpty)
  if (!isEmpty) return
  const [text, offer] =
    known === 0
      ? ['No call has ended yet. It will show here as soon as one has.']
      : quotesHidden > 0
        ? ['Only quotes are here, and they are hidden.', button('Show quotes', () => filters.showQuotes())]
        : ['No call matches the filters.', button('Clear the filters', () => filters.clear())]
  // The same offer stays: a new one would lose the focus of the keyboard.
  if (byId('empty').dataset.text === text) return
  byId('empty').dataset.text = text
  byId('empty').replaceChildren(element('p', text), ...(offer ? [offer] : []))
}

function redrawSoon(): void {
  redrawing ??= clock.after(Math.max(0, redrawnMs + REDRAW_MS - clock.monotonic()), redraw)
}

function redraw(): void {
  redrawing?.()
  redrawing = undefined
  redrawnMs = clock.monotonic()
  if (hello === undefined || totals === undefined) return
  if (byId('overview').hidden) drawing.tell(runs.shown)
  else overview.show(runs, hello, totals)
}
