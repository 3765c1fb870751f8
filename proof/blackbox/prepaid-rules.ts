/**
 * What must hold of what is paid for once and used by many calls, read from one buyer's history: each unit that left was taken by an
 * answer, once, and no more than was sold.
 */
import type { Anomaly } from './checker.js'
import { type Exchange, grouped, runsOf } from './exchanges.js'
import type { Got } from './history.js'

type Find = (anomaly: Anomaly, says: string) => void

interface Loss {
  givenAway: number
  brokenStreams: number
}

/** Of a window. The call that bought it is the first of them. */
const CALLS_SOLD = 5

export function judgePrepaid(own: readonly Exchange[], find: Find): Loss {
  const loss: Loss = { givenAway: 0, brokenStreams: 0 }
  for (const [window, inside] of grouped(own, ({ sent }) => sent.window)) {
    if (window === undefined) continue
    const { size } = runsOf([...inside, ...own.filter(({ got }) => got?.soldWindow === window)])
    loss.givenAway += Math.max(0, size - CALLS_SOLD)
    if (hasEnded(inside) && inside.at(-1)!.got!.status === 402 && size < CALLS_SOLD)
      find('lost-units', `${size} calls of a window were answered, and none is left`)
  }
  for (const [balance, inside] of grouped(own, ({ sent }) => sent.balance)) {
    const sale = own.find(({ got }) => got?.soldBalance === balance && got?.units !== undefined)
    if (balance !== undefined && sale) judgeBalance(Number(sale.got!.units), inside, find, loss)
  }
  return loss
}

function judgeBalance(sold: number, inside: readonly Exchange[], find: Find, loss: Loss): void {
  const calls = [...grouped(inside, ({ sent }) => sent.idempotencyKey)].map(([key, about]) => {
    const taken = judgeCall(key!, about, find, loss)
    // A call that had an answer had taken its units by then.
    const tookAt = Math.min(
      ...about.filter(({ got }) => got?.charged !== undefined).map(({ gotAt }) => gotAt),
    )
    return { taken, sentAt: about[0]!.sentAt, tookAt }
  })
  const sum = (some: typeof calls) => some.reduce((units, { taken }) => units + taken, 0)
  const last = inside.at(-1)!.got
  if (hasEnded(inside) && last?.left !== undefined) {
    const left = sold - sum(calls)
    const says = `${sold} units were sold, answers took ${sum(calls)}, and ${last.left} are left`
    if (Number(last.left) < left) find('lost-units', says)
    if (Number(last.left) > left) find('free-units', says)
  }
  for (const { got, sentAt, gotAt } of inside) {
    if (got?.left === undefined) continue
    const most = sold - sum(calls.filter(({ tookAt }) => tookAt < sentAt))
    const least = sold - sum(calls.filter(call => call.sentAt < gotAt))
    // Of a quote, what other calls have reserved is not in it.
    const isWrong = Number(got.left) > most || (got.status === 200 && Number(got.left) < least)
    if (isWrong) find('stale-balance', `${got.left} were left, of ${least} to ${most}`)
  }
}

/** A whole stream that came before its cost was counted. Its store may be away by then, and its lease may lapse: it costs nothing. */
export function isUncountedStream({ sent, got }: Exchange): boolean {
  return sent.balance !== undefined && sent.path.endsWith('/tale') && got?.charged === undefined
}

/** All requests under one key. How many units the call took. */
function judgeCall(key: string, about: readonly Exchange[], find: Find, loss: Loss): number {
  const charges = new Set(
    about.flatMap(({ got }) => (got?.charged === undefined ? [] : [Number(got.charged)])),
  )
  if (charges.size > 1) find('unequal-replay', `${key} was charged ${[...charges].join(' and ')}`)
  const taken = Math.max(0, ...charges)
  for (const { sent, got } of about) {
    if (got?.charged === undefined) continue
    const most = Math.max(...about.map(one => Number(one.sent.maxCharge ?? Number.POSITIVE_INFINITY)))
    if (taken > most || (got.cost !== undefined && got.charged !== got.cost))
      find('overcharge', `${key} took ${taken}, allowed were ${most}, and its handler said ${got.cost}`)
    if (taken > 0 && sent.body.includes('"fail":true')) find('failure-charged', `${key} took ${taken}`)
  }
  const counted = runsOf(about.filter(one => !isUncountedStream(one)))
  loss.givenAway += [...runsOf(about)].filter(run => !counted.has(run)).length
  const last = lastOf(about)
  const isHad = runsOf(about).size > 0
  if (last === undefined || !isFinal(last))
    find(
      'lost-answer',
      `${key}: the last word on a balance was ${last ? `${last.status} ${last.code}` : 'none'}`,
    )
  else if (taken > 0 && (last.status === 402 || last.status === 500))
    find('false-no', `${key}: ${last.status}`)
  else if (taken > 0 && !isHad) {
    if (about[0]!.sent.path.endsWith('/tale')) loss.brokenStreams++
    else find('lost-answer', `${key} took ${taken}, and the last word was ${last.status} ${last.code}`)
  }
  return taken
}

/** Whether a seller said what became of a call. */
function isFinal({ status, code }: Got): boolean {
  return status === 200 || status === 402 || code === 'answer_not_kept' || code === 'asked_to_fail'
}

const lastOf = (about: readonly Exchange[]) =>
  about
    .filter(({ got }) => got !== undefined)
    .sort((a, b) => a.gotAt - b.gotAt)
    .at(-1)?.got

/** Whether the last request was made when the end of every call was known. */
function hasEnded(inside: readonly Exchange[]): boolean {
  const last = inside.at(-1)!
  const before = grouped(
    inside.filter(one => one !== last),
    ({ sent }) => sent.idempotencyKey,
  )
  return (
    last.got !== undefined &&
    [...before.values()].every(about =>
      about.some(({ got, gotAt }) => got && isFinal(got) && gotAt < last.sentAt),
    )
  )
}
