/** What clients paid, against what they count and what they were allowed. */
import { CAPS_BASE_UNITS } from '../caps.js'
import type { Stage } from '../parties/acts.js'
import type { Buyer } from '../parties/buyer.js'
import type { World } from '../world/world.js'

export function spending({ truth, ledger, conditions }: World, buyers: readonly Buyer[]): void {
  // What was paid more than a day ago is counted no longer.
  if (conditions.kind === 'hoard') return
  for (const { name, signer, client, ledger: counted } of buyers) {
    const landed = ledger
      .transactions()
      .filter(({ sender, asset }) => sender === signer.address && asset !== null)
    const sent = new Set(Array.from(client.receipts, receipt => receipt.txId))
    const byClient = landed.filter(({ txId }) => sent.has(txId))
    const sum = byClient.reduce((total, { amount }) => total + amount, 0n)
    if (counted.spentBaseUnits < sum)
      truth.violated('spending-is-counted', `${name} paid ${sum} and counts ${counted.spentBaseUnits}`)
  }
}

/**
 * A hostile seller says what it likes, and the client can only count against its caps; but that a payment is spent the client believes
 * the chain alone.
 */
export function wordsHold({ truth, ledger, conditions }: World, buyers: readonly Buyer[]): void {
  for (const { name, client } of buyers) {
    for (const { txId, charged } of client.receipts) {
      if (conditions.kind === 'hoard' && !(truth.calledSpent.has(txId) && charged === 'yes')) continue
      // Who has seen a payment that failed may present it again, and be served for it.
      const acts = truth.askings.flatMap(({ payment, act }) => (payment?.txId === txId ? act : []))
      const isTaken = new Set(acts).size > 1
      const landed = ledger.landed(txId) !== undefined
      if (charged === 'yes' && !landed)
        truth.violated('the-clients-word', `${name} says that ${txId} was charged, and it has not landed`)
      if (charged === 'no' && landed && !isTaken)
        truth.violated('the-clients-word', `${name} says that ${txId} was not charged, and it landed`)
    }
  }
}

const DAY_SECONDS = 86_400

/** Whatever a seller says, and whenever it submits: by what has landed. */
export function capsHold({ truth, ledger, conditions }: World, buyers: readonly Buyer[]): void {
  if (conditions.kind !== 'hoard') return
  const { maxPrice, maxPerDay } = CAPS_BASE_UNITS
  for (const { name, signer, sent } of buyers) {
    for (const [key, txIds] of sent) {
      const landed = [...txIds].filter(txId => ledger.landed(txId) !== undefined)
      if (landed.length > 1)
        truth.violated('paid-once-a-call', `${name} paid for the call ${key} by ${landed.join(' and ')}`)
    }
    const paid = ledger
      .transactions()
      .filter(({ sender, asset }) => sender === signer.address && asset !== null)
    for (const { txId, amount } of paid) {
      if (amount > maxPrice) truth.violated('caps-hold', `${name} paid ${amount} at once, ${txId}`)
    }
    for (const { landedAt: from } of paid) {
      const day = paid.filter(({ landedAt }) => landedAt >= from && landedAt < from + DAY_SECONDS)
      const sum = day.reduce((total, { amount }) => total + amount, 0n)
      if (sum > maxPerDay) truth.violated('caps-hold', `${name} paid ${sum} within a day`)
    }
  }
}

/** Of a payer with limits of its own. */
export function withinCap({ world, act }: Stage, payer: string, cap: bigint, times = 1_000n): void {
  const paid = world.ledger.transactions().filter(({ sender, asset }) => sender === payer && asset !== null)
  const sum = paid.reduce((total, { amount }) => total + amount, 0n)
  if (sum > cap || BigInt(paid.length) > times)
    world.truth.violated('caps-hold', `${act} paid ${sum} in ${paid.length} payments under a cap of ${cap}`)
}
