/** What a seller's processes ask facilitators and the node, and whether they may: of whom, how often, and on whose word. */
import type { EndedCall } from '../../../src/index.js'
import type { Process } from '../kernel/process.js'
import { keyOf } from '../world/accounts.js'
import type { World } from '../world/world.js'

/** A quote counts for four of its lives at most, and a pause follows a question that failed by then. */
const LATELY_MS = 4 * 300_000 + 60_000
/** How long the first quotes wait for a facilitator. */
const FIRST_WAIT_MS = 1_000
/** Reads in the background, of which one comes a second after a failure, and our own questions, a second apart. */
const OWN_PER_SECOND = 2
const OWN_AT_START = 3

interface Verification {
  readonly facilitator: string
  readonly txId: string
  readonly atMs: number
}

interface OwnQuestions {
  readonly process: Process
  readonly facilitator: string
  readonly sinceMs: number
  count: number
}

export class Questions {
  readonly #world: World
  readonly #verifications: Verification[] = []
  readonly #own = new Map<string, OwnQuestions>()
  /** Of the node, about one payment. */
  readonly #aboutPayment = new Map<string, number>()
  /** When the first facilitator last did not answer a question of a seller's own in time. */
  #firstFailedMs = -Infinity

  constructor(world: World) {
    this.#world = world
  }

  /** A question of the seller's own. What it returns is told whether the answer named a kind of payment. */
  own(process: Process, facilitator: string): (isGood: boolean) => void {
    const { timeline } = this.#world
    const name = `${process.name}>${facilitator}`
    const asked = this.#own.get(name) ?? { process, facilitator, sinceMs: timeline.nowMs, count: 0 }
    asked.count++
    this.#own.set(name, asked)
    if (facilitator !== 'facilitator') return () => {}
    const untilMs = timeline.nowMs + FIRST_WAIT_MS
    let isAnswered = false
    const failed = () => {
      this.#firstFailedMs = timeline.nowMs
    }
    timeline.after(FIRST_WAIT_MS, () => {
      if (!isAnswered) failed()
    })
    return isGood => {
      isAnswered = true
      if (!isGood || timeline.nowMs >= untilMs) failed()
    }
  }

  verify(facilitator: string, body: Buffer): void {
    const { truth, timeline } = this.#world
    const payment = truth.readIn(JSON.parse(body.toString('utf8')).paymentPayload)
    if (!payment) return
    const { txId, sponsor } = payment
    this.#verifications.push({ facilitator, txId, atMs: timeline.nowMs })
    if (facilitator !== 'backup' || timeline.nowMs - this.#firstFailedMs < LATELY_MS) return
    const whose = sponsor === keyOf('backup sponsor').address ? 'its sponsor' : 'another sponsor'
    truth.violated('the-seller-chooses', `${txId}, with ${whose}, went to the backup while the first was up`)
  }

  /** A question to the node, by its path. */
  node(path: string): void {
    const txId = /\/transactions\/pending\/([A-Z2-7]+)/.exec(path)?.[1]
    if (txId !== undefined) this.#aboutPayment.set(txId, (this.#aboutPayment.get(txId) ?? 0) + 1)
  }

  ended({ id, path, ms }: EndedCall): void {
    const { truth, timeline } = this.#world
    if (path.at(-1) !== 'verifying.unreachable') return
    const held = truth.holds.find(({ call }) => call === id)
    if (!held) return
    const sinceMs = Math.min(held.atMs, timeline.nowMs - ms - 1)
    if (this.#verifications.some(({ txId, atMs }) => txId === held.txId && atMs >= sinceMs)) return
    truth.violated('asked-before-refused', `${id} ended, and no facilitator was asked about ${held.txId}`)
  }

  atTheEnd(): void {
    const { truth, timeline } = this.#world
    const recorded = new Set(truth.records.map(({ txId }) => txId))
    const presented = new Map<string, number>()
    for (const { payment } of truth.askings)
      if (payment) presented.set(payment.txId, (presented.get(payment.txId) ?? 0) + 1)
    const asked = new Map<string, number>()
    for (const { facilitator, txId } of this.#verifications) {
      const name = `${facilitator} ${txId}`
      asked.set(name, (asked.get(name) ?? 0) + 1)
    }
    for (const [txId, count] of this.#aboutPayment) asked.set(`node ${txId}`, count)
    for (const [name, count] of asked) {
      const txId = name.split(' ')[1]!
      const times = presented.get(txId) ?? 0
      if (!recorded.has(txId) && count > times)
        truth.violated(
          'questions-bounded',
          `${name}: ${count} questions, and it was presented ${times} times`,
        )
    }
    for (const { process, facilitator, sinceMs, count } of this.#own.values()) {
      const most = OWN_AT_START + (OWN_PER_SECOND * (timeline.nowMs - sinceMs)) / 1_000
      if (count > most)
        truth.violated(
          'questions-bounded',
          `${process.name} asked ${facilitator} ${count} questions of its own`,
        )
    }
  }
}
