/**
 * Tasks over a store that other processes can read. The store gets a hash of the task's id, and the content sealed under the
 * id: whoever reads the store can neither pay a task nor read an input or an answer.
 */
import { callerIpNetwork } from '../../domain/caller-ip-network.js'
import { everyName } from '../../domain/endpoint-lifecycle.js'
import { canonicalJson } from '../../domain/json.js'
import type { PaymentPayload } from '../../domain/x402.js'
import { NO_ADDRESS } from '../../ports/charge.js'
import type { PaidBy, QuotedCall, TaskStore, Tasks } from '../../ports/tasks.js'
import type { ChargeDeps, EndpointEntry } from '../charge/charge-deps.js'
import { countTask, uncountTask } from '../charge/effects/admit.js'
import { sha256, taskName } from '../charge/names-in-stores.js'
import { paymentLifeMs, retentionMs, sealBytes, unsealBytes } from '../charge/seal-answers.js'
import type { Settings } from '../server/options/server-settings.js'

export interface TasksOptions {
  readonly store: TaskStore
  readonly terms: Settings['tasks']
  /** How long a quote lives. */
  readonly quoteLifeMs: number
}

/** One address gets a part of the room, so that a single caller who never pays does not take all of it. */
const SHARE_OF_ONE = 4
/**
 * How long a task is kept at least after its payment came: for as long as it may take to verify the payment and to wait for
 * credit. With an hour more, a worthless payment took a place for an hour.
 */
const UNTIL_PAID_MS = 60_000

/** What is kept of a task. */
interface KeptCall extends QuotedCall {
  /** The address that began it, and that it is counted for. */
  readonly clientAddress: string
}

/** Names a payment in which no transaction can be read. A transaction id has no colon. */
const UNREADABLE = 'unreadable:'

export function tasksOver(deps: ChargeDeps, { store, terms, quoteLifeMs }: TasksOptions): Tasks {
  const { owner: agentOwner, reader, random, logger, endpoints } = deps
  const nameOf = (id: string) => taskName(agentOwner, id)
  const opened = (content: Uint8Array, id: string) =>
    JSON.parse(unsealBytes(content, id, nameOf(id)).toString('utf8')) as KeptCall

  async function orWarn<T>(what: string, move: () => Promise<T>): Promise<T | undefined> {
    try {
      return await move()
    } catch (cause) {
      logger.warn({ err: cause }, what)
      return undefined
    }
  }

  return {
    async keep(call, clientAddress) {
      const { maxInputBytes: bytesMax, max } = terms
      if (Buffer.byteLength(JSON.stringify(call.input)) > bytesMax) return { verdict: 'tooLarge', bytesMax }
      const rate = endpoints.get(call.endpoint)?.rate
      const counted = rate && (await countTask(deps, rate, clientAddress))
      if (counted && !counted.admitted) return { verdict: 'limited', retryAfterMs: counted.retryAfterMs }
      const id = random.uuid()
      const name = nameOf(id)
      const keptCall: KeptCall = { ...call, clientAddress }
      const content = sealBytes(Buffer.from(JSON.stringify(keptCall), 'utf8'), id, name, random)
      const owner = sha256(callerIpNetwork(clientAddress))
      // Callers without an address are one owner. If they had one share, a single one of them could take it from all others.
      const ownerMax = clientAddress === NO_ADDRESS ? max : Math.ceil(max / SHARE_OF_ONE)
      const kept = await store.put({ name, content, owner, lifeMs: quoteLifeMs, ownerMax, max })
      return kept === 'kept' ? { verdict: 'kept', id } : { verdict: 'full' }
    },
    async find(id) {
      const task = await store.get(nameOf(id))
      if (task === undefined) return undefined
      const call = opened(task.content, id)
      return task.payment === undefined ? { call } : { call, paidBy: paidBy(task.payment) }
    },
    async take(id, payment) {
      const name = nameOf(id)
      const token = random.uuid()
      const read = (await reader()).read(payment)
      const by = { name, payment: read?.txId ?? unreadable(payment), token }
      const taken = await store.take({ ...by, lifeMs: quoteLifeMs + UNTIL_PAID_MS })
      if (taken === undefined) return { verdict: 'unknown' }
      if (taken.payment !== by.payment) return { verdict: 'refused', paidBy: paidBy(taken.payment) }
      const call = opened(taken.content, id)
      const isOf = ({ def }: EndpointEntry) => everyName(def.name, def.formerly).includes(call.endpoint)
      const rate = [...endpoints.values()].find(isOf)?.rate
      // Awaited: the payment is counted next, and would be refused where its task took the address's last place.
      if (taken.isFirst && rate) await uncountTask(deps, rate, call.clientAddress)
      return {
        verdict: 'taken',
        call,
        async paid() {
          // For as long as its answer may be asked for: an answer that was recorded is kept for this time.
          const lifeMs = paymentLifeMs(read) + retentionMs(deps, id, undefined)
          const what = 'a paid task may end before its answer is asked for again'
          await orWarn(what, () => store.take({ ...by, lifeMs }))
        },
        async completed(sold) {
          // Otherwise the task counts until its time is over. Its payment can ask for the answer all the same.
          const move = { ...by, how: 'completed', lifeMs: retentionMs(deps, id, sold) } as const
          await orWarn('a completed task could not be marked', () => store.end(move))
        },
        async failed() {
          const move = { ...by, how: 'failed', lifeMs: 0 } as const
          return (await orWarn('a failed task could not be ended', () => store.end(move))) !== 'kept'
        },
      }
    },
    async decline(id) {
      const ended = await store.end({ name: nameOf(id), how: 'failed', lifeMs: 0 })
      return ended === 'ended' ? 'declined' : ended === 'kept' ? 'paid' : 'unknown'
    },
  }
}

function unreadable({ payload = null }: PaymentPayload): string {
  return UNREADABLE + sha256(canonicalJson(payload))
}

function paidBy(payment: string): PaidBy {
  return { txId: payment.startsWith(UNREADABLE) ? undefined : payment }
}
