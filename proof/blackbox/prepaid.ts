/**
 * Buyers of what is paid for once and used by many calls: a window of counted calls, or a balance. Each call has a key of its own, and is
 * made until its end is known. Then what was answered is asked for again, and the seller is asked what is left.
 */
import { randomUUID } from 'node:crypto'

/** One call on what was bought. `false` where its end is not known: it is made again, with the same key. */
export type Use = (key: string, call: number) => Promise<'answered' | 'over' | false>

export interface Prepaid {
  readonly use: Use
  /** Asks, when no call is under way, for the seller's word on what is left. Whether it said so. */
  audit(): Promise<boolean>
}

interface Call {
  readonly key: string
  readonly number: number
}

const AT_ONCE = 4

/** Makes so many calls, some at once. As a purchase's `ask`: whether nothing is left to ask. */
export function using({ use, audit }: Prepaid, calls: number): () => Promise<boolean> {
  const waiting: Call[] = Array.from({ length: calls }, (_, number) => ({ key: randomUUID(), number }))
  const answered: Call[] = []
  const end = async (call: Call) => {
    const ended = await use(call.key, call.number).catch(() => false as const)
    if (ended === false) return waiting.push(call)
    if (ended === 'answered') answered.push(call)
  }
  return async () => {
    if (waiting.length > 0) {
      await Promise.all(waiting.splice(0, AT_ONCE).map(end))
      return waiting.length === 0
    }
    for (const { key, number } of answered)
      if ((await use(key, number).catch(() => false)) !== 'answered') return false
    return audit().catch(() => false)
  }
}

export type Ask = (
  more: Record<string, string>,
  key: string,
  path?: string,
  body?: object,
) => Promise<Response>

/** What a window's or a balance's seller says is final. Anything else is asked again. */
async function endOf(answer: Response): Promise<'answered' | 'over' | false> {
  const { status } = answer
  if (status === 200) return 'answered'
  const text = status >= 400 ? await answer.clone().text() : ''
  if (status === 402 || (status === 409 && text.includes('answer_not_kept'))) return 'over'
  return status === 500 && text.includes('asked_to_fail') ? 'over' : false
}

/** More than any window has. */
const WINDOW_CALLS = 6

/** A window of counted calls, by the key that opens it. At the end, calls one by one until none is left. */
export function onWindow(ask: Ask, window: string): () => Promise<boolean> {
  const use: Use = async key => endOf(await ask({ 'x-svc-subscription': window }, key))
  let last = randomUUID()
  const audit = async () => {
    const end = await use(last, WINDOW_CALLS)
    if (end === 'answered') last = randomUUID()
    return end === 'over'
  }
  return using({ use, audit }, WINDOW_CALLS)
}

/** They want more than is there: the last of them, at once, must not overdraw. */
const BALANCE_CALLS = 14
export const BALANCE = '$0.05'

/** What is wanted of call number so many on a balance. */
export function workOf(call: number): 'metered' | 'tale' | 'failure' {
  return call % 5 === 4 ? 'failure' : call % 5 === 2 ? 'tale' : 'metered'
}

/** A balance, by its key: answers, streams, and calls that fail. At the end one call alone, whose answer says what is left. */
export function onBalance(ask: Ask, balance: string, use = plainly(ask, balance)): () => Promise<boolean> {
  const last = randomUUID()
  const audit = async () => (await endOf(await ask(spending(balance), last, 'metered'))) !== false
  return using({ use, audit }, BALANCE_CALLS)
}

const spending = (balance: string) => ({ 'x-svc-balance-key': balance })
/** Under this limit nothing runs: the answer says what became of a call. */
const NOTHING = { 'x-svc-max-charge': '0' }

function plainly(ask: Ask, balance: string): Use {
  return async (key, call) => {
    const work = workOf(call)
    const path = work === 'failure' ? 'metered' : work
    const body = work === 'failure' ? { fail: true } : {}
    const more = { ...spending(balance), ...(call % 2 === 0 && { 'x-svc-max-charge': '20000' }) }
    const answer = await ask(more, key, path, body).catch(() => undefined)
    if (work !== 'tale') return answer ? endOf(answer) : false
    // A stream's head leaves before its cost is known, so its end is asked for.
    return endOf(await ask({ ...spending(balance), ...NOTHING }, key, path, body))
  }
}
