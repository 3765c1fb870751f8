/** The details of one run: its result, the duration of each state, its payment, what its handler said. */
import type { UnitsOfCall } from '../../../ports/call-observer.js'
import type { Hello, RunView } from '../page-events.js'
import { wordsOf } from '../step-words.js'
import { button, byId, element } from './dom-elements.js'
import { dateAndTime, duration, timeOfDay, usd } from './number-format.js'

const CHARGED: Readonly<Record<string, string>> = {
  yes: 'charged',
  no: 'not charged',
  earlier: 'charged earlier, replayed now',
  balance: 'taken from a balance',
  maybe: 'in doubt: look the transaction up, never ask to pay again',
}
const DECIDED = {
  true: 'was in doubt; the payment landed (svc refunds says whether it is owed)',
  false: 'was in doubt; the payment never landed, and never can',
}

export function showDetail(run: RunView | undefined, hello: Hello | undefined, onClose: () => void): void {
  const place = byId('run')
  place.hidden = run === undefined
  const shown =
    run && hello ? [heading(run, onClose), ...said(run, hello), timings(run, hello), facts(run, hello)] : []
  place.replaceChildren(...shown)
  place.scrollTop = 0
}

function heading(
  { endpoint, status, final, charged, landed, ms }: RunView,
  onClose: () => void,
): HTMLElement {
  const close = button('×', onClose)
  close.className = 'close plain'
  close.setAttribute('aria-label', 'Close')
  return element(
    `h2.${classOf({ charged, landed })}`,
    element(`span.status.s${String(status)[0]}`, String(status)),
    element('span.title', endpoint, ' ', element('small.note', `${wordsOf(final)}, in ${duration(ms)}`)),
    close,
  )
}

/** The colour of a run: what its charge was, or turned out to be. */
export function classOf({ charged, landed }: Pick<RunView, 'charged' | 'landed'>): string {
  return landed === undefined ? charged : landed ? 'earlier' : 'no'
}

/** The error and the logs, or how to have them. */
function said({ error, logs = [], final }: RunView, { keepsMessages }: Hello): HTMLElement[] {
  const withheld =
    'The handler’s message is kept in development (svc dev, or NODE_ENV=development), and with audit: { token, messages: true }.'
  const lines = logs.map(({ atMs, message, data }) =>
    element(
      'li',
      element('time', timeOfDay(atMs)),
      ` ${message}`,
      data === undefined ? undefined : ` ${JSON.stringify(data)}`,
    ),
  )
  return [
    ...(error === undefined ? [] : [element('p.error.bad', error)]),
    ...(final === 'failed' && !keepsMessages ? [element('p.note', withheld)] : []),
    ...(lines.length === 0 ? [] : [element('h3.Logs'), element('ol.logs.fixed', ...lines)]),
  ]
}

/** One bar for each state. Its length is the duration of the state; all bars have the same scale. */
function timings({ path, timingsMs, final }: RunView, { steps }: Hello): HTMLElement {
  const longestMs = Math.max(...timingsMs, 0.001)
  const table = element('table.timings')
  for (const [at, step] of path.entries()) {
    const name = steps[step]!
    const bar = element('i.fill.accent')
    bar.style.width = `${(100 * (timingsMs[at] ?? 0)) / longestMs}%`
    const said = element('th', wordsOf(name), ' ', element('span.event', name.replace('.', ' ')))
    said.setAttribute('scope', 'row')
    table.append(
      element(
        'tr',
        said,
        element('td.bar', element('span.track', bar)),
        element('td.time', duration(timingsMs[at] ?? 0)),
      ),
    )
  }
  const end = element('th', wordsOf(final))
  end.setAttribute('scope', 'row')
  table.append(element('tr.end', end))
  return table
}

function facts(run: RunView, { network, explorerUrl }: Hello): HTMLElement {
  const { charged, landed, txId, amount, asset, units, payer, mismatch, code, startedMs, id, traceId } = run
  const facts: readonly (readonly [name: string, value: string | undefined])[] = [
    ['outcome', `${code}: ${landed === undefined ? CHARGED[charged] : DECIDED[`${landed}`]}`],
    ['transaction', txId],
    ['receipt', receiptText(run)],
    ['amount', amount && `${usd(BigInt(amount))} (${amount} base units of asset ${asset})`],
    ['payer', payer],
    ['window', run.window],
    ['balance', units?.balance],
    ['on it', units && unitsText(units)],
    ['network', amount && network],
    ['mismatch', mismatch],
    [
      'stream',
      run.streamBroken && `broken by the ${run.brokenBy ?? 'other side'}: the caller did not get it all`,
    ],
    ['started', dateAndTime(startedMs)],
    ['call', id],
    ['trace', traceId],
  ]
  const list = element('dl')
  for (const [name, value] of facts) {
    if (value === undefined) continue
    const shown = element(`dd.${name}${IDS.has(name) ? '.fixed' : ''}`, value)
    if (name === 'transaction') {
      shown.append(' ', copier(value))
      if (explorerUrl !== undefined) shown.append(' ', explorerLink(explorerUrl, value))
    }
    list.append(element('dt', name), shown)
  }
  return list
}

const IDS: ReadonlySet<string> = new Set(['transaction', 'payer', 'window', 'balance', 'call', 'trace'])

function unitsText(units: UnitsOfCall): string {
  const { sold, used, inDoubt, left } = units
  const parts = Object.entries({ sold, used, 'in doubt': inDoubt, left })
  return parts
    .flatMap(([what, amount]) => (amount === undefined ? [] : `${usd(BigInt(amount))} ${what}`))
    .join(', ')
}

function receiptText({ charged, final }: RunView): string | undefined {
  if (charged === 'yes') return 'success, sent with the answer'
  if (charged === 'earlier') return 'the first call’s, sent again'
  return final === 'unsettled' ? 'failure, sent with the answer' : undefined
}

function copier(text: string): HTMLElement {
  return button('copy', made => {
    navigator.clipboard.writeText(text).then(
      () => made.replaceChildren('copied'),
      () => made.replaceChildren('select it by hand'),
    )
  })
}

/** The server has checked that the explorer is a web address, so the link can only open a page. */
function explorerLink(explorerUrl: string, txId: string): HTMLElement {
  const link = element('a.explorer.↗') as HTMLAnchorElement
  link.href = explorerUrl + encodeURIComponent(txId)
  link.target = '_blank'
  link.rel = 'noreferrer'
  return link
}
