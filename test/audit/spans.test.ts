/** Traces, as an SDK that a process registers receives them; and that without one nothing is made. */
import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { afterEach, describe, expect, it } from 'vitest'
import { callSpans } from '../../src/audit/opentelemetry-spans.js'
import { defineEndpoint } from '../../src/index.js'
import { ask, open, pay } from '../support/seller.js'
import { callOn, PAYER, STARTED_MS, settledPath } from './calls.js'

const exporter = new InMemorySpanExporter()

function registered() {
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  trace.setGlobalTracerProvider(provider)
  return provider.getTracer('test')
}

afterEach(() => {
  exporter.reset()
  trace.disable()
  context.disable()
})

const millis = ([seconds, nanos]: readonly [number, number]) => seconds * 1_000 + nanos / 1e6

describe('a call’s span', () => {
  it('lasts as long as the call, with an event for each state at the moment it was entered', () => {
    registered()
    const call = callOn(settledPath, 'settled')
    callSpans().ended(call)
    const [span] = exporter.getFinishedSpans()
    expect(span).toMatchObject({
      name: 'svc even',
      kind: SpanKind.SERVER,
      status: { code: SpanStatusCode.UNSET },
    })
    expect([millis(span!.startTime), millis(span!.endTime)]).toEqual([STARTED_MS, STARTED_MS + call.ms])
    expect(span!.events.map(({ name, attributes }) => `${name}.${attributes?.['svc.event']}`)).toEqual(
      call.path,
    )
    expect(span!.events.map(({ time }) => millis(time) - STARTED_MS).slice(0, 4)).toEqual([0, 0.5, 2, 4.5])
    expect(span!.attributes).toMatchObject({
      'svc.charged': 'yes',
      'svc.transaction': call.txId,
      'svc.amount': '10000',
    })
    expect(JSON.stringify([span!.attributes, span!.events])).not.toContain(PAYER)
  })

  it('is an error where ours was the fault, and not where the caller’s was', () => {
    registered()
    const spans = callSpans()
    spans.ended(callOn(['received.broke'], 'broken'))
    spans.ended(callOn(['received.limited'], 'limited'))
    const statuses = exporter.getFinishedSpans().map(({ status }) => status)
    expect(statuses).toEqual([
      { code: SpanStatusCode.ERROR, message: 'internal_error' },
      { code: SpanStatusCode.UNSET },
    ])
  })

  it('is inside whatever span is active, such as that of an instrumented HTTP server', () => {
    const tracer = registered()
    const around = tracer.startSpan('POST')
    const call = callOn(settledPath, 'settled')
    context.with(trace.setSpan(context.active(), around), () => callSpans().ended(call))
    const [span] = exporter.getFinishedSpans()
    expect(span).toMatchObject({
      kind: SpanKind.INTERNAL,
      parentSpanContext: { spanId: around.spanContext().spanId },
    })
  })

  it('is nothing, and breaks nothing, without an SDK', () => {
    callSpans().ended(callOn(settledPath, 'settled'))
    expect(exporter.getFinishedSpans()).toEqual([])
  })
})

describe('over HTTP', () => {
  const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({ done: true }) })

  it('a caller that traces finds the call in its own trace, sampled as it says', async () => {
    registered()
    const seller = await open([work])
    const traceId = '0af7651916cd43dd8448eb211c80319c'
    const headers = (flags: string) => ({ traceparent: `00-${traceId}-b7ad6b7169203331-${flags}` })
    await pay(seller, `${seller.url}/work`, { body: {}, headers: headers('01') })
    // The quote and the call. The API is loaded with the first call that ends.
    await expect.poll(() => exporter.getFinishedSpans()).toHaveLength(2)
    const span = exporter.getFinishedSpans().at(-1)!
    expect(span.spanContext().traceId).toBe(traceId)
    expect(span.parentSpanContext).toMatchObject({ spanId: 'b7ad6b7169203331', isRemote: true })
    expect(span.events.at(-1)).toMatchObject({ name: 'settling', attributes: { 'svc.event': 'settled' } })
    const before = exporter.getFinishedSpans().length
    await ask(`${seller.url}/work`, { body: {}, headers: headers('00') })
    expect(exporter.getFinishedSpans()).toHaveLength(before)
  })
})
