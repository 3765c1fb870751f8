/** The details of one run: its result, the duration of each state, its payment. */
import type { Hello, RunView } from '../page-events.js'
import { byId, element } from './dom-elements.js'
import { duration, timeOfDay, usd } from './number-format.js'

const CHARGED: Readonly<Record<string, string>> = {
  yes: 'charged',
  no: 'not charged',
  earlier: 'charged earlier, replayed now',
  maybe: 'in doubt: look the transaction up, never ask to pay again',
}

export function showDetail(run: RunView | undefined, hello: Hello | undefined): void {
  const place = byId('run')
  place.hidden = run === undefined
  const shown = run && hello ? [heading(run), timings(run, hello), facts(run, hello)] : []
  place.replaceChildren(...shown)
  place.scrollTop = 0
}

function heading({ endpoint, status, final, charged, ms }: RunView): HTMLElement {
  return element(
    'h2',
    charged,
    element('span', `status s${String(status)[0]}`, String(status)),
    ` ${endpoint} `,
    element('small', '', `${final} in ${duration(ms)}`),
  )
}

/** One bar for each state. Its length is the duration of the state; all bars have the same scale. */
function timings({ path, timingsMs, final }: RunView, { steps }: Hello): HTMLElement {
  const longestMs = Math.max(...timingsMs, 0.001)
  const table = element('table', 'timings')
  for (const [at, step] of path.entries()) {
    const [state, event] = steps[step]!.split('.') as [string, string]
    const bar = element('meter', '')
    bar.setAttribute('max', '1')
    bar.setAttribute('value', String((timingsMs[at] ?? 0) / longestMs))
    bar.setAttribute('aria-hidden', 'true')
    table.append(
      element(
        'tr',
        '',
        element('th', '', state),
        element('td', 'event', event),
        element('td', 'bar', bar),
        element('td', 'time', duration(timingsMs[at] ?? 0)),
      ),
    )
  }
  table.append(element('tr', 'end', element('th', '', final)))
  return table
}

function facts(run: RunView, { network }: Hello): HTMLElement {
  const { charged, txId, amount, asset, mismatch, streamBroken, code, startedMs, id, traceId } = run
  const facts: readonly (readonly [name: string, value: string | undefined])[] = [
    ['outcome', `${code}: ${CHARGED[charged]}`],
    ['transaction', txId],
    ['receipt', receiptText(run)],
    ['amount', amount && `${usd(BigInt(amount))} (${amount} base units of asset ${asset})`],
    ['network', amount && network],
    ['mismatch', mismatch],
    ['stream', streamBroken && 'broken: the caller did not get all of it'],
    ['started', `${new Date(startedMs).toISOString().slice(0, 10)} ${timeOfDay(startedMs)}`],
    ['call', id],
    ['trace', traceId],
  ]
  const list = element('dl')
  for (const [name, value] of facts) {
    if (value === undefined) continue
    const shown = element('dd', name, value)
    if (name === 'transaction') shown.append(' ', copier(value))
    list.append(element('dt', '', name), shown)
  }
  return list
}

function receiptText({ charged, final }: RunView): string | undefined {
  if (charged === 'yes') return 'success, sent with the answer'
  if (charged === 'earlier') return 'the first call’s, sent again'
  return final === 'unsettled' ? 'failure, sent with the answer' : undefined
}

function copier(text: string): HTMLElement {
  const button = element('button', '', 'copy')
  button.setAttribute('type', 'button')
  button.addEventListener('click', () => {
    navigator.clipboard.writeText(text).then(
      () => button.replaceChildren('copied'),
      () => button.replaceChildren('select it by hand'),
    )
  })
  return button
}
