/** The page's program: it receives the server's events and draws their content. */
import type { AuditEvents, Hello, Totals } from '../page-events.js'
import { byId, say } from './dom-elements.js'
import { Filters } from './filters.js'
import { Drawing } from './machine-view.js'
import { count, usd } from './number-format.js'
import { showDetail } from './run-detail.js'
import { RunList } from './run-list.js'
import { Runs } from './runs.js'

const runs = new Runs()
const drawing = new Drawing()
let hello: Hello | undefined

const list = new RunList(run => {
  drawing.light(run)
  showDetail(run, hello)
})
const filters = new Filters(filter => {
  runs.filter(filter)
  byId('list').scrollTop = 0
  show(0)
})

const events = new EventSource('audit/events')
on('hello', told => {
  hello = told
  runs.begin(told)
  drawing.begin(told)
  filters.begin(told)
  runs.filter(filters.chosen)
  say('agent', told.agent)
  say('network', told.network)
  document.title = `${told.agent} · audit`
  showTotals({ calls: 0, charged: 0, inDoubt: 0, taken: '0' })
  live('live')
  show(0)
  drawing.light(list.chosen)
})
on('runs', told => show(runs.add(told)))
on('edges', told => drawing.tell(told))
on('totals', showTotals)
// EventSource connects again by itself, and the server then sends its first event again. The page keeps its content until then.
events.addEventListener('error', () => live('no connection, trying again'))

function on<E extends keyof AuditEvents>(name: E, listener: (data: AuditEvents[E]) => void): void {
  events.addEventListener(name, event => listener(JSON.parse((event as MessageEvent<string>).data)))
}

function live(text: string): void {
  say('live', text)
  byId('live').classList.toggle('off', text !== 'live')
}

function showTotals({ calls, charged, inDoubt, taken }: Totals): void {
  say('calls', count(calls))
  say('charged', count(charged))
  say('doubt', count(inDoubt))
  say('taken', usd(BigInt(taken)))
}

function show(added: number): void {
  list.show(runs.shown, added)
  say('shown', `${count(runs.shown.length)} of ${count(runs.known)} runs`)
  byId('empty').hidden = runs.shown.length > 0
  say(
    'empty',
    runs.known === 0
      ? 'No call has ended yet. It will show here as soon as one has.'
      : 'No run is like this. Choose other filters.',
  )
}
