/** What is checked when all trouble is over, every lease has lapsed and every payment has landed or can land no more. */
import { OUTCOMES } from '../../src/domain/machines/charge.machine.js'
import { presented } from '../parties/acts.js'
import { Buyer } from '../parties/buyer.js'
import type { Work } from '../world/seller.js'
import type { Asking } from '../world/truth.js'
import type { WireReply } from '../world/wire.js'
import type { World } from '../world/world.js'
import { audited } from './books.js'

const RATE_WINDOW_MS = 60_000
const ASKING_AGAIN_MS = 120_000

export async function checkedAtTheEnd(world: World, buyers: readonly Buyer[]): Promise<void> {
  const { truth, seller } = world
  if (seller.inFlight !== 0) truth.violated('in-flight-ends', `${seller.inFlight} calls are in flight`)
  toldNotCharged(world)
  keysChargedOnce(world)
  unpaidRuns(world)
  spending(world, buyers)
  await audited(world)
  await askedAgain(world)
}

/** A call that ended without a charge, in words that say so. `superseded` says nothing, and neither do refusals at the door. */
function toldNotCharged({ truth, ledger }: World): void {
  for (const call of truth.calls) {
    if (OUTCOMES[call.final].charged !== 'no' || call.final === 'superseded') continue
    const record = truth.records.findLast(({ call: id }) => id === call.id)
    if (!record || !ledger.landed(record.txId) || truth.byPayer.has(record.txId)) continue
    const later = truth.records.some(
      ({ call: id, txId, atMs }) => txId === record.txId && id !== call.id && atMs >= record.atMs,
    )
    if (!later)
      truth.violated('told-not-charged', `${call.id} ended ${call.final}, and ${record.txId} landed`)
  }
}

function keysChargedOnce({ truth, conditions, ledger }: World): void {
  if (conditions.onLostResponse === undefined) return
  const charged = new Map<string, Set<string>>()
  for (const { key, endpoint, payment, body } of truth.askings) {
    if (key === undefined || !payment || !ledger.landed(payment.txId) || truth.byPayer.has(payment.txId))
      continue
    // A payment that was presented under several keys was charged under one of them.
    if (truth.askings.some(other => other.payment?.txId === payment.txId && other.key !== key)) continue
    const name = `${endpoint} ${payment.payer} ${key} ${body}`
    charged.set(name, (charged.get(name) ?? new Set()).add(payment.txId))
  }
  for (const [name, txIds] of charged) {
    if (txIds.size < 2) continue
    // The specification's row: in release mode an answer that was seen to be lost frees its key.
    const lost = truth.askings.some(({ isLost, payment }) => isLost && payment && txIds.has(payment.txId))
    if (conditions.onLostResponse === 'release' && lost) continue
    truth.violated('key-charged-once', `${name} was charged ${txIds.size} times: ${[...txIds].join(' ')}`)
  }
}

const CREDIT_START = 8

function unpaidRuns({ truth, conditions, ledger }: World): void {
  if (!conditions.hasCredit) return
  const ended = new Map(
    truth.calls.flatMap(call => (call.txId === undefined ? [] : [[call.txId, call] as const])),
  )
  const unpaid = new Map<string, number>()
  const paid = new Map<string, number>()
  for (const { txId, payer } of truth.handlerRuns) {
    if (txId === undefined || payer === undefined) continue
    if (ledger.landed(txId)) paid.set(payer, (paid.get(payer) ?? 0) + 1)
    else if (['abandoned', 'unsettled', 'inDoubt'].includes(ended.get(txId)?.final ?? ''))
      unpaid.set(payer, (unpaid.get(payer) ?? 0) + 1)
  }
  for (const [payer, runs] of unpaid) {
    const credit = CREDIT_START + (paid.get(payer) ?? 0)
    if (runs > credit)
      truth.violated('unpaid-runs-bounded', `${payer} had ${runs} unpaid runs under a credit of ${credit}`)
  }
}

function spending({ truth, ledger }: World, buyers: readonly Buyer[]): void {
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
 * Everybody asks again for what was paid or promised, with the very request that was sent. Whoever presents somebody
 * else's payment, or under another key, may hear that it is in use until its own caller has asked: so they ask twice.
 */
async function askedAgain(world: World): Promise<void> {
  const { truth } = world
  const last = new Map<string, Asking>()
  for (const asking of truth.askings) {
    if (asking.payment)
      last.set(`${asking.payment.txId} ${asking.endpoint} ${asking.key} ${asking.body}`, asking)
  }
  const auditor = new Buyer(world, 'auditor')
  const open: Asking[] = []
  for (const asking of last.values()) {
    const reply = await repeated(world, auditor, asking)
    if (isOpen(reply)) open.push(asking)
    else checkAgain(world, asking, reply!)
  }
  for (const asking of open) {
    const reply = await repeated(world, auditor, asking)
    if (!isOpen(reply)) checkAgain(world, asking, reply!)
    else
      truth.violated(
        'ends-decided',
        `${asking.act} asked again for ${asking.payment!.txId} and got ${reply?.status} ${reply && codeIn(reply)}`,
      )
  }
}

async function repeated(world: World, auditor: Buyer, asking: Asking): Promise<WireReply | undefined> {
  const { timeline } = world
  const stage = { world, buyer: auditor, act: asking.act }
  const presenting = {
    header: asking.header!,
    key: asking.key,
    door: asking.isMessage ? 'a2a' : 'http',
  } as const
  let reply: WireReply | undefined
  const ask = async () => {
    reply = undefined
    presented(stage, asking.endpoint, JSON.parse(asking.body) as Work, presenting, asking.address).then(
      given => {
        reply = given
      },
    )
    await timeline.run(timeline.nowMs + ASKING_AGAIN_MS, () => reply !== undefined)
  }
  await ask()
  // A limit is waited out, as the answer says.
  while (reply && codeIn(reply) === 'rate_limited') {
    await timeline.run(timeline.nowMs + RATE_WINDOW_MS)
    await ask()
  }
  return reply
}

function isOpen(reply: WireReply | undefined): boolean {
  return reply === undefined || OPEN_CODES.includes(codeIn(reply) ?? '')
}

function codeIn({ body }: WireReply): string | undefined {
  return /"code":"(\w+)"/.exec(body)?.[1]
}

const OPEN_CODES = ['idempotency_in_progress', 'payment_in_use', 'settlement_unknown', 'store_unavailable']

function checkAgain({ truth, ledger, conditions }: World, asking: Asking, reply: WireReply): void {
  const { payment, key, act, endpoint } = asking
  const txId = payment!.txId
  const code = codeIn(reply)
  const isReplayed = reply.status === 200
  if (isReplayed || !ledger.landed(txId) || truth.byPayer.has(txId)) return
  const isOurs = truth.handlerRuns.some(
    run => run.txId === txId && run.endpoint === endpoint && run.act === act,
  )
  if (!isOurs || key === 'short') return
  // Presented under several keys, or with several bodies: the answer is kept for one of them.
  const others = truth.askings.filter(other => other.payment?.txId === txId)
  if (others.some(other => other.key !== key || other.body !== asking.body || other.endpoint !== endpoint))
    return
  const hasKey = key !== undefined && conditions.onLostResponse !== undefined
  if (hasKey && conditions.onLostResponse === 'replay')
    truth.violated('answer-can-be-had', `${act} paid ${txId} under a key and got ${reply.status} ${code}`)
}
