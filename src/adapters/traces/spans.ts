/**
 * One OpenTelemetry span for each ended call, and in it one event for each state that the call passed. It speaks to the
 * API alone: unless the process registers an SDK, nothing is made and nothing leaves.
 */
import {
  type Context,
  context,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import type { CallObserver, EndedCall } from '../../ports/call-observer.js'

export function callSpans(): CallObserver {
  const tracer = trace.getTracer('@svc/sdk')
  return {
    ended(call) {
      const around = context.active()
      const inside = trace.getSpan(around) !== undefined
      const span = tracer.startSpan(
        `svc ${call.endpoint}`,
        { kind: inside ? SpanKind.INTERNAL : SpanKind.SERVER, startTime: call.startedMs },
        inside ? around : callersContext(around, call),
      )
      if (span.isRecording()) tell(span, call)
      span.end(call.startedMs + call.ms)
    },
  }
}

/** Where no instrumentation of HTTP has read the caller's `traceparent`, the span is the caller's child all the same. */
function callersContext(around: Context, { traceId, parentSpan }: EndedCall): Context {
  if (parentSpan === undefined) return around
  const traceFlags = parentSpan.sampled ? TraceFlags.SAMPLED : TraceFlags.NONE
  return trace.setSpanContext(around, { traceId, spanId: parentSpan.id, traceFlags, isRemote: true })
}

/** No payer: whoever reads traces is not who keeps the books. */
function tell(span: Span, call: EndedCall): void {
  const { id, traceId, endpoint, final, code, charged, status, txId, amount, asset, mismatch } = call
  span.setAttributes({
    'svc.call_id': id,
    // What the answer's own header says, where this span is in another trace.
    'svc.trace_id': traceId,
    'svc.endpoint': endpoint,
    'svc.final': final,
    'svc.code': code,
    'svc.charged': charged,
    'svc.transaction': txId,
    'svc.amount': amount,
    'svc.asset': asset,
    'svc.mismatch': mismatch,
    'http.response.status_code': status,
  })
  if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR, message: code })
  let enteredMs = call.startedMs
  for (const [at, step] of call.path.entries()) {
    const [state, event] = step.split('.') as [string, string]
    const ms = call.timingsMs[at] ?? 0
    span.addEvent(state, { 'svc.event': event, 'svc.ms': ms }, enteredMs)
    enteredMs += ms
  }
}
