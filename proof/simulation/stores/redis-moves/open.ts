import type { Move, Reply } from '../redis-model.js'
import { CLAIM, PAYMENT } from './prelude.js'

/** `lua/open.ts`. */
export const open: Move = (records, [, , deadlineMs, bodyHash, lease, bearer, caller]): Reply => {
  const { hashes, key, nowMs, token } = records
  if (records.isLate(deadlineMs)) return ['late', nowMs]
  const leaseMs = Number(lease)
  let claim = records.find(CLAIM, key.c)
  let payment = records.find(PAYMENT, key.p)
  const verdict = records.presented(payment)
  const read = (name: string, ...fields: string[]) => fields.map(field => hashes.get(name, field))
  const kept = claim
    ? read(claim.name, 'bodyHash', 'answer', 'txId', 'firstValid', 'lastValid', 'caller')
    : []

  const opensForBearer = () => {
    if (!payment) return false
    if (records.lists(claim!, 'recorded')) return payment.token === claim!.token
    return (
      caller !== '' && kept[5] === caller && typeof kept[2] === 'string' && key.p!.endsWith(`:${kept[2]}`)
    )
  }
  const replay = (fields: readonly (string | null | undefined)[]): Reply =>
    typeof fields[1] === 'string' ? ['replayable', fields[1]] : ['notKept', fields[2] ?? null]

  const filed = key.n && verdict === 'spent' ? records.find(CLAIM, key.n) : undefined
  if (filed) {
    const fields = read(filed.name, 'bodyHash', 'answer', 'txId')
    if (fields[0] === bodyHash && records.lists(filed, 'evicted')) return replay(fields)
  }

  if (claim && (bearer !== '1' || opensForBearer())) {
    const { name } = claim
    if (kept[0] !== bodyHash) return ['reused']
    if (records.lists(claim, 'evicted')) return replay(kept)
    if (claim.token !== token && nowMs < claim.leaseEndsMs) return ['inProgress', claim.leaseEndsMs - nowMs]
    if (records.lists(claim, 'orphaned')) {
      records.move(claim, 'orphaned')
      records.keep(claim, 'token', token, 'leaseEndsMs', nowMs + leaseMs)
      return ['orphaned', ...read(name, 'answer', 'txId', 'firstValid', 'lastValid')]
    }
  } else if (claim) {
    if (verdict === 'opened') return ['unsure']
  }

  if (verdict !== 'opened') return [verdict, Math.max(0, payment!.leaseEndsMs - nowMs)]

  if (key.c) {
    const event = claim ? 'reopened' : 'opened'
    if (claim) hashes.drop(claim.name, 'caller')
    claim ??= records.fresh(CLAIM, key.c)
    records.move(claim, event)
  }
  if (key.p) {
    payment ??= records.fresh(PAYMENT, key.p)
    records.move(payment, 'opened')
  }
  if (claim)
    records.hold(claim, leaseMs, 'bodyHash', bodyHash!, ...(caller === '' ? [] : ['caller', caller!]))
  if (payment) records.hold(payment, leaseMs)
  return ['opened']
}
