/**
 * What buyers sent and got, as lines of JSON: nothing else is known to the checker, besides the chain. A line that was sent has one
 * that was got, or one that was lost (the connection broke, or nothing came in time).
 */
import { createHash } from 'node:crypto'

export type Line = Sent | Got | Lost | Agreed | Deed

interface Told {
  readonly atMs: number
  readonly buyer: string
  /** What the buyer wants once: one answer, or one window. */
  readonly purchase: string
}

interface OfExchange extends Told {
  /** The request, as a number of this run. */
  readonly exchange: number
}

export interface Sent extends OfExchange {
  readonly what: 'sent'
  readonly path: string
  readonly body: string
  readonly idempotencyKey?: string
  /** The header `PAYMENT-SIGNATURE`, as it was sent. */
  readonly payment?: string
  /** A digest of the window's key. */
  readonly window?: string
  /** A digest of the balance's key. */
  readonly balance?: string
  /** The most that the call may take of its balance, in base units. */
  readonly maxCharge?: string
  readonly isProven?: boolean
}

export interface Got extends OfExchange {
  readonly what: 'got'
  readonly status: number
  /** The code of an error. */
  readonly code?: string
  /** Names the run of the handler that made the answer. */
  readonly run?: string
  readonly question?: string
  /** What a 402 asks for, in base units. */
  readonly quoted?: string
  /** Of the receipt. */
  readonly txId?: string
  readonly isReplayed?: boolean
  /** A digest of the window's key that came with the answer. */
  readonly soldWindow?: string
  /** Of a balance: a digest of the key that came with the answer, and for how many base units it was sold. */
  readonly soldBalance?: string
  readonly units?: string
  /** What a call took of its balance, and what was left then, as the seller says; and what the handler says that it cost. */
  readonly charged?: string
  readonly left?: string
  readonly cost?: string
}

export interface Lost extends OfExchange {
  readonly what: 'lost'
  readonly why: string
}

/** The buyer signed: what it agreed to pay at most, in base units. */
export interface Agreed extends Told {
  readonly what: 'agreed'
  readonly payment: string
  readonly amount: string
}

/** The nemesis began to break something, or has mended it. */
export interface Deed {
  readonly what: 'deed'
  readonly atMs: number
  readonly name: string
  readonly isOver: boolean
}

export function digest(secret: string): string {
  return createHash('sha256').update(secret).digest('hex').slice(0, 16)
}

export class History {
  readonly lines: Line[] = []
  #exchanges = 0

  add(line: Line): void {
    this.lines.push(line)
  }

  /** `fetch` whose every exchange is written down. */
  recording(buyer: string, purchase: string, send: typeof fetch): typeof fetch {
    return async (input, init) => {
      const request = new Request(input, init)
      const exchange = ++this.#exchanges
      const told = () => ({ atMs: Date.now(), buyer, purchase, exchange })
      this.add({ ...told(), what: 'sent', ...sentOf(request, await request.clone().text()) })
      try {
        const response = await send(request)
        const body = await response.arrayBuffer()
        this.add({ ...told(), what: 'got', ...gotOf(response, Buffer.from(body).toString()) })
        const head = { status: response.status, statusText: response.statusText, headers: response.headers }
        const hasBody = response.status !== 204 && response.status !== 304
        const copy = new Response(hasBody ? body : null, head)
        Object.defineProperty(copy, 'url', { value: response.url })
        return copy
      } catch (cause) {
        this.add({ ...told(), what: 'lost', why: cause instanceof Error ? cause.message : String(cause) })
        throw cause
      }
    }
  }
}

function sentOf({ url, headers }: Request, body: string) {
  const window = headers.get('x-svc-subscription')
  const balance = headers.get('x-svc-balance-key')
  return {
    path: new URL(url).pathname,
    body,
    ...present('idempotencyKey', headers.get('idempotency-key')),
    ...present('payment', headers.get('payment-signature')),
    ...present('window', window && digest(window)),
    ...present('balance', balance && digest(balance)),
    ...present('maxCharge', headers.get('x-svc-max-charge')),
    ...(headers.has('sign-in-with-x') && { isProven: true }),
  }
}

function gotOf({ status, headers }: Response, body: string) {
  const sold = headers.get('x-svc-subscription')
  const balance = headers.get('x-svc-balance-key')
  const soldBalance = balance && digest(balance)
  return {
    status,
    ...present('code', /"code":"([a-z_0-9]+)"/.exec(status >= 400 ? body : '')?.[1]),
    // No handler answers a purchase of a balance: its key names the answer.
    ...present('run', soldBalance ?? /"?\\?"run\\?":\\?"([0-9a-f-]{36})/.exec(body)?.[1]),
    ...present('question', /\\?"question\\?":\\?"([^"\\]+)/.exec(body)?.[1]),
    ...present('quoted', decoded(headers.get('payment-required'))?.accepts?.[0]?.amount),
    ...present('txId', decoded(headers.get('payment-response'))?.txId),
    ...(headers.get('idempotency-replayed') === 'true' && { isReplayed: true }),
    ...present('soldWindow', sold && digest(sold)),
    ...present('soldBalance', soldBalance),
    ...present('units', soldBalance && /"balance":"(\d+)"/.exec(body)?.[1]),
    ...present('charged', headers.get('x-svc-charged')),
    ...present('left', headers.get('x-svc-balance')),
    ...present('cost', [...body.matchAll(/\\?"cost\\?":(\d+)/g)].at(-1)?.[1]),
  }
}

function present<K extends string>(name: K, value: string | null | undefined): { [key in K]?: string } {
  return (value ? { [name]: value } : {}) as { [key in K]?: string }
}

function decoded(header: string | null) {
  if (!header) return undefined
  try {
    return JSON.parse(Buffer.from(header, 'base64').toString()) as {
      accepts?: { amount?: string }[]
      txId?: string
    }
  } catch {
    return undefined
  }
}
