/** The three filters over the list. */
import type { Hello } from '../page-events.js'
import { byId, element } from './dom-elements.js'
import type { Filter } from './runs.js'

const CHARGED = { yes: 'yes', maybe: 'in doubt', earlier: 'earlier', no: 'no' }

export class Filters {
  readonly #selects = {
    endpoint: byId<HTMLSelectElement>('endpoint'),
    final: byId<HTMLSelectElement>('outcome'),
    charged: byId<HTMLSelectElement>('chargedness'),
  }

  constructor(onChange: (filter: Filter) => void) {
    offer(this.#selects.charged, Object.entries(CHARGED))
    byId('filters').addEventListener('change', () => onChange(this.chosen))
    byId('filters').addEventListener('submit', event => event.preventDefault())
    // A click on a final state in the drawing filters by this state. A second click clears the filter.
    byId('drawing').addEventListener('click', event => {
      const final = (event.target as Element).closest<SVGElement>('.exit')?.dataset.final
      if (final === undefined) return
      const { final: select } = this.#selects
      select.value = select.value === final ? '' : final
      onChange(this.chosen)
    })
  }

  begin({ endpoints, outcomes }: Hello): void {
    const named = Object.entries(outcomes).map(([name, { status }]) => [name, `${status} ${name}`] as const)
    offer(
      this.#selects.endpoint,
      endpoints.map(name => [name, name]),
    )
    offer(
      this.#selects.final,
      named.sort(([, a], [, b]) => a.localeCompare(b)),
    )
  }

  get chosen(): Filter {
    const { endpoint, final, charged } = this.#selects
    return { endpoint: endpoint.value, final: final.value, charged: charged.value }
  }
}

/** Replaces the options of a select, and keeps its value. The page does this at each new connection. */
function offer(
  select: HTMLSelectElement,
  options: readonly (readonly [value: string, text: string])[],
): void {
  const { value } = select
  const made = options.map(([name, text]) => {
    const option = element('option', '', text) as HTMLOptionElement
    option.value = name
    return option
  })
  select.replaceChildren(select.options[0]!, ...made)
  select.value = options.some(([name]) => name === value) ? value : ''
}
