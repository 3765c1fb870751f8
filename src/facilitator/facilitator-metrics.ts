/** Counts the answers of a facilitator for Prometheus. Its codes are the labels, so the number of series is bounded. */
import { Counter, Gauge, Registry } from 'prom-client'
import type { FacilitatorCondition } from '../ports/facilitator.js'

export function facilitatorMetrics(condition: () => FacilitatorCondition) {
  const registry = new Registry()
  const registers = [registry]
  const answers = new Counter({
    name: 'svc_facilitator_answers_total',
    help: 'Answers to verify and settle, by their code; valid and settled are the good ones.',
    labelNames: ['operation', 'result'],
    registers,
  })
  new Gauge({
    name: 'svc_facilitator_fees_today_microalgos',
    help: 'Fees that the sponsor has paid since midnight, UTC, or since the process started.',
    registers,
    collect() {
      this.set(condition().feesToday)
    },
  })
  new Gauge({
    name: 'svc_facilitator_fees_per_day_max_microalgos',
    help: 'The most fees that the sponsor pays in a day.',
    registers,
    collect() {
      this.set(condition().feePerDayMax)
    },
  })
  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    /** @param result the code of the answer */
    answered(operation: 'verify' | 'settle', result: string) {
      answers.inc({ operation, result })
    },
  }
}
