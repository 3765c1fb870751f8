/**
 * The server behind endpoints with an `upstream`, in a process of its own. Undici's connections are the machine's, so what a seller sends
 * over them while an episode runs comes here. It is slow, dies, fails, and breaks its answers off.
 */
import type { Dispatcher } from 'undici'
import { Process } from '../kernel/process.js'
import { type EndpointName, handlerOf, originHostOf, type Work } from './agents.js'
import { responseOf } from './gates.js'
import type { World } from './world.js'

const WAY_MS = 2
const RESTART_MS = 4_000
/** None of them is sold. */
const NOT_SOLD = [206, 304, 402, 404, 429, 500, 503] as const

export class Origin {
  readonly #world: World
  readonly #callers = new Map<string, Process>()
  #process: Process

  constructor(world: World) {
    this.#world = world
    this.#process = new Process('origin', world.timeline)
  }

  /** Lets this process of the seller reach it. */
  open(process: Process): void {
    this.#callers.set(originHostOf(process), process)
  }

  /** As undici's agent does. */
  dispatch(options: Dispatcher.DispatchOptions, reply: Dispatcher.DispatchHandler): boolean {
    const { timeline, network, conditions } = this.#world
    const from = this.#callers.get(new URL(String(options.origin)).host)!
    const server = this.#process
    let isOver = false
    let cancel = () => {}
    const controller = {
      abort() {
        isOver = true
        cancel()
      },
      pause() {},
      resume() {},
    } as unknown as Dispatcher.DispatchController
    const tell = (run: () => void) => {
      if (!isOver) run()
    }
    const later = (run: () => void) => timeline.after(WAY_MS, () => from.deliver(() => tell(run)))
    const broken = (cause: Error) => reply.onResponseError!(controller, cause)
    reply.onRequestStart!(controller, {})
    const asked = () => this.#answer(options, server)
    network.ask(from, server, `${from.name}>origin`, conditions.origin.link, asked).then(
      response =>
        tell(() => {
          const { status, headers, body, cutAfter } = response
          reply.onResponseStart!(controller, status, headers, '')
          const stopWatching = server.onDeath(() => later(() => broken(new Error('reset'))))
          cancel = () => void body.cancel().catch(() => {})
          const pump = async (left: number): Promise<void> => {
            const { done, value } = await body.read()
            if (left === 0) throw new Error('cut off')
            if (done) return void later(() => reply.onResponseEnd!(controller, {}))
            later(() => reply.onResponseData!(controller, value))
            return pump(left - 1)
          }
          pump(cutAfter)
            .catch(cause => later(() => broken(cause)))
            .finally(stopWatching)
        }),
      cause => tell(() => broken(cause)),
    )
    return true
  }

  async #answer({ path, headers, body }: Dispatcher.DispatchOptions, server: Process) {
    const { fate, timeline, conditions } = this.#world
    const { failures, cuts, death } = conditions.origin
    const name = fate.numbered('origin')
    if (fate.strike(`${name}.death`, death, timeline.nowMs)) this.#restart()
    const failure = fate.strike(`${name}.failure`, failures, timeline.nowMs)
    const told = failure
      ? { response: new Response(null, { status: failure.pick(NOT_SOLD) }), cost: undefined }
      : await this.#worked(path, headers as string[], String(body), server)
    const { response, cost } = told
    const isStream = response.headers.get('content-type') === 'text/event-stream'
    const whole = isStream ? undefined : Buffer.from(await response.arrayBuffer())
    const cut = fate.strike(`${name}.cut`, cuts, timeline.nowMs)
    return {
      status: response.status,
      headers: {
        ...Object.fromEntries(response.headers),
        ...(whole ? { 'content-length': String(whole.length) } : { 'transfer-encoding': 'chunked' }),
        ...(cost !== undefined && { 'x-svc-charge': cost }),
        ...NOT_ITS_TO_SAY,
      },
      body: (whole ? ReadableStream.from(halves(whole)) : response.body!).getReader(),
      cutAfter: cut ? cut.between(0, 1) : Number.POSITIVE_INFINITY,
    }
  }

  /** What a handler does in the seller's own process. It knows its caller by the headers. */
  async #worked(path: string, pairs: readonly string[], body: string, server: Process) {
    const sent = new Headers(pairs.flatMap((name, at) => (at % 2 ? [] : [[name, pairs[at + 1]!]])))
    const said = (name: string) => sent.get(name) ?? undefined
    let cost: string | undefined
    const answering = handlerOf(
      this.#world,
      server,
      path.slice(1) as EndpointName,
    )({
      body: JSON.parse(body) as Work,
      payment: { txId: said('x-svc-tx-id'), payer: said('x-svc-payer') },
      idempotencyKey: said('x-svc-idempotency-key'),
      // Its caller's call has one that is not sent here.
      traceId: '',
      charge(usd) {
        cost ??= usd
      },
    })
    const response = await responseOf(answering).catch(() =>
      Response.json({ error: { code: 'handler_error' } }, { status: 500 }),
    )
    return { response, cost }
  }

  #restart(): void {
    const { timeline } = this.#world
    this.#process.die()
    timeline.after(RESTART_MS, () => {
      this.#process = new Process('origin', timeline)
    })
  }
}

function* halves(bytes: Buffer): Generator<Buffer> {
  const middle = bytes.length >> 1
  for (const part of [bytes.subarray(0, middle), bytes.subarray(middle)]) if (part.length > 0) yield part
}

/** An upstream's words about what is this server's own. */
const NOT_ITS_TO_SAY = {
  'payment-response': 'e30=',
  'x-svc-balance-key': 'svc_of-the-upstream',
  'x-svc-charged': '0',
  'idempotency-replayed': 'true',
}
