import type { Hello } from '../page-events.js'
import { wordsOf } from '../step-words.js'
import { byId, element } from './dom-elements.js'
import type { Filter } from './run-collection.js'

const CHARGED = { yes: 'yes', balance: 'on a balance', maybe: 'in doubt', earlier: 'earlier', no: 'no' }
type Name = 'endpoint' | 'final' | 'charged'

export class Filters {
  readonly #period = byId<HTMLSelectElement>('period')
  readonly #search = byId<HTMLInputElement>('search')
  readonly #quotes = byId<HTMLInputElement>('quotes')
  readonly #selects = {
    endpoint: byId<HTMLSelectElement>('endpoint'),
    final: byId<HTMLSelectElement>('outcome'),
    charged: byId<HTMLSelectElement>('chargedness'),
  }

  constructor(readonly onChange: (filter: Filter) => void) {
    offer(this.#selects.charged, Object.entries(CHARGED))
    byId('filters').addEventListener('change', () => onChange(this.chosen))
    this.#search.addEventListener('input', () => onChange(this.chosen))
    byId('filters').addEventListener('submit', event => event.preventDefault())
  }

  begin({ endpoints, machine }: Hello): void {
    const named = Object.entries(machine.rows)
      .filter(([, { final }]) => final)
      .map(([name, { meta }]) => [name, `${meta.status} ${wordsOf(name)}`] as const)
    offer(
      this.#selects.endpoint,
      endpoints.map(name => [name, name]),
    )
    offer(
      this.#selects.final,
      named.sort(([, a], [, b]) => a.localeCompare(b)),
    )
  }

  toggle(name: Name, value: string): void {
    const select = this.#selects[name]
    select.value = select.value === value ? '' : value
    this.onChange(this.chosen)
  }

  clear(): void {
    for (const select of Object.values(this.#selects)) select.value = ''
    this.#period.value = '0'
    this.#search.value = ''
    this.onChange(this.chosen)
  }

  /** Shows the calls in whose names this stands. */
  seek(text: string): void {
    this.#search.value = text
    this.onChange(this.chosen)
  }

  showQuotes(): void {
    this.#quotes.checked = true
    this.onChange(this.chosen)
  }

  get chosen(): Filter {
    const { endpoint, final, charged } = this.#selects
    return {
      endpoint: endpoint.value,
      final: final.value,
      charged: charged.value,
      periodMs: Number(this.#period.value),
      quotes: this.#quotes.checked,
      search: this.#search.value,
    }
  }
}

/** Replaces the options of a select, and keeps its value. The page does this at each new connection. */
function offer(
  select: HTMLSelectElement,
  options: readonly (readonly [value: string, text: string])[],
): void {
  const { value } = select
  const made = options.map(([name, text]) => {
    const option = element('option', text) as HTMLOptionElement
    option.value = name
    return option
  })
  select.replaceChildren(select.options[0]!, ...made)
  select.value = options.some(([name]) => name === value) ? value : ''
}
