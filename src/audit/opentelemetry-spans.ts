/** One OpenTelemetry span for each ended call. Unless the process registers an SDK, no span is made or sent. */
import {
  type Context,
  context,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import type { CallObserver, EndedCall } from '../ports/call-observer.js'

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

/** The caller's span is the parent, also where no instrumentation of HTTP has read its `traceparent`. */
function callersContext(around: Context, { traceId, parentSpan }: EndedCall): Context {
  if (parentSpan === undefined) return around
  const traceFlags = parentSpan.sampled ? TraceFlags.SAMPLED : TraceFlags.NONE
  return trace.setSpanContext(around, { traceId, spanId: parentSpan.id, traceFlags, isRemote: true })
}

/** The payer is left out: the readers of traces do not need it. */
function tell(span: Span, call: EndedCall): void {
  const { id, traceId, endpoint, final, code, charged, status, txId, amount, asset, mismatch, streamBroken } =
    call
  span.setAttributes({
    'svc.call_id': id,
    // The trace id of the answer's header, where this span is in another trace.
    'svc.trace_id': traceId,
    'svc.endpoint': endpoint,
    'svc.final': final,
    'svc.code': code,
    'svc.charged': charged,
    'svc.transaction': txId,
    'svc.amount': amount,
    'svc.asset': asset,
    'svc.mismatch': mismatch,
    'svc.stream_broken': streamBroken,
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
