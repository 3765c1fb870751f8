/** The drawing of the machine: the counts on its edges, and the path of one run. */
import type { EdgeView, Hello, RunView } from '../page-events.js'
import { count, duration } from './number-format.js'

export class Drawing {
  #steps: readonly string[] = []
  #labels: readonly (readonly SVGElement[])[] = []

  begin({ steps }: Hello): void {
    this.#steps = steps
    this.#labels = steps.map(step => all(`[data-step="${CSS.escape(step)}"]`))
    for (const stat of all('.stat')) stat.textContent = ''
    for (const drawn of all('.used')) drawn.classList.remove('used')
  }

  tell(edges: readonly EdgeView[]): void {
    for (const [step, times, medianMs] of edges) {
      for (const drawn of this.#labels[step]!) {
        drawn.classList.add('used')
        drawn.querySelector('.stat')!.textContent = `${count(times)} · ${duration(medianMs)}`
      }
    }
  }

  light(run: RunView | undefined): void {
    for (const drawn of all('.lit')) drawn.classList.remove('lit')
    document.body.classList.toggle('lighting', run !== undefined)
    if (run === undefined) return
    const steps = run.path.map(step => this.#steps[step]!)
    for (const step of steps) {
      const [state] = step.split('.')
      for (const drawn of all(
        `[data-step="${CSS.escape(step)}"], [data-steps~="${CSS.escape(step)}"], [data-state="${CSS.escape(state!)}"]`,
      )) {
        drawn.classList.add('lit')
        // SVG draws later elements above earlier ones. Highlighted exits go last, above the lines that they share.
        if (drawn.classList.contains('exit')) drawn.parentNode!.append(drawn)
      }
    }
    // On a phone the whole page would scroll, and the list would go out of view. So scroll only the wide drawing.
    const end = all('.wide .exit.lit')[0]
    if (matchMedia('(min-width: 901px)').matches) end?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }
}

function all(selector: string): SVGElement[] {
  return [...document.querySelectorAll<SVGElement>(selector)]
}
