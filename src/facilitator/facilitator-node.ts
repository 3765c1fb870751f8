/** A missing or malformed answer throws, or is `unclear` where the node may have carried out what it was asked. */
import type { SignedTransaction } from 'algosdk'
import { algodOver } from '../adapters/algorand/algod-and-indexer.js'
import { bigintIn, type PostingNodeClient, unavailable } from '../adapters/algorand/ask-node.js'
import { encodedMember } from '../adapters/algorand/decode-by-algosdk.js'
import { encoded } from '../adapters/algorand/transaction-hashes.js'
import { sharedQuestions } from '../domain/load-once.js'
import { isRecord } from '../domain/x402.js'
import { type Clock, sleep, withTimeout } from '../ports/clock.js'

export type FacilitatorNode = ReturnType<typeof facilitatorNode>

type Submission =
  | { readonly said: 'accepted' }
  | { readonly said: 'refused'; readonly words: string }
  /** It was sent, and nobody knows what became of it. `cause` is for operators: it may show where the node is. */
  | { readonly said: 'unclear'; readonly cause: string }

export type Fate =
  | { readonly is: 'landed' }
  | { readonly is: 'pooled' }
  | { readonly is: 'dropped'; readonly words: string }
  /** Neither in this node's pool nor in its last 1000 rounds. */
  | { readonly is: 'unknown' }

/** A node's words where it knows the transaction, in its pool or as landed: this submission was not the first. */
export const ALREADY_IN_LEDGER = 'already in ledger'

/** Submission is asked once, so it has more time than questions that can be repeated. */
const SUBMIT_TIMEOUT_MS = 5_000
/** A round takes about 3 s. */
const ROUND_TIMEOUT_MS = 5_000

export function facilitatorNode(client: PostingNodeClient) {
  const algod = algodOver(client)
  const askedRound = sharedQuestions<void>()

  async function untilNextRound(): Promise<void> {
    const last = await algod.lastRound()
    await client.ask(`/v2/status/wait-for-block-after/${last}`, { timeoutMs: ROUND_TIMEOUT_MS })
  }

  return {
    suggestedParams: algod.suggestedParams,
    lastRound: algod.lastRound,
    account: algod.account,
    /**
     * The node's words against this group; `undefined` where it has none. Does not see the pool. Transactions without a signature
     * pass only where `unsigned` says so.
     */
    async simulate(
      group: readonly SignedTransaction[],
      unsigned?: 'unsignedToo',
    ): Promise<string | undefined> {
      const body = simulateRequest(group, unsigned === undefined ? TXN_GROUPS : TXN_GROUPS_UNSIGNED_TOO)
      const reply = await client.ask('/v2/transactions/simulate?format=json', { body })
      if (reply.status === 400) return reply.message
      if (reply.status === 404) throw unavailable('it does not simulate')
      return failureIn(reply.body)
    },
    async submit(group: readonly SignedTransaction[]): Promise<Submission> {
      const body = Buffer.concat(group.map(encodedMember))
      try {
        const reply = await client.ask('/v2/transactions', { body, timeoutMs: SUBMIT_TIMEOUT_MS })
        if (reply.status === 400) return { said: 'refused', words: reply.message }
        if (reply.status === 404) return { said: 'unclear', cause: `status 404: ${reply.message}` }
        return reply.body.txId === encoded(group[0]!.txn).txId
          ? { said: 'accepted' }
          : { said: 'unclear', cause: 'the node named another transaction' }
      } catch (error) {
        return { said: 'unclear', cause: (error as Error).message }
      }
    },
    async fateOf(txId: string): Promise<Fate> {
      const reply = await client.ask(`/v2/transactions/pending/${txId}?format=json`)
      if (reply.status === 404) return { is: 'unknown' }
      if (reply.status === 400) throw unavailable(reply.message)
      const { 'pool-error': poolError = '', 'confirmed-round': round = 0 } = reply.body
      if (round !== 0)
        return bigintIn(reply.body, 'confirmed-round') > 0n ? { is: 'landed' } : { is: 'unknown' }
      if (typeof poolError !== 'string' || !isRecord(reply.body.txn))
        throw unavailable('no pending transaction')
      return poolError === '' ? { is: 'pooled' } : { is: 'dropped', words: poolError }
    },
    nextRound: () => askedRound(untilNextRound),
    close: () => client.close(),
  }
}

const TXN_GROUPS = Buffer.from('\x81\xaatxn-groups\x91\x81\xa4txns', 'latin1')
const TXN_GROUPS_UNSIGNED_TOO = Buffer.from(
  '\x82\xb6allow-empty-signatures\xc3\xaatxn-groups\x91\x81\xa4txns',
  'latin1',
)

function simulateRequest(group: readonly SignedTransaction[], options: Buffer): Buffer {
  const head = group.length < 16 ? Buffer.of(0x90 | group.length) : Buffer.of(0xdc, 0, group.length)
  return Buffer.concat([options, head, ...group.map(encodedMember)])
}

function failureIn(body: Record<string, unknown>): string | undefined {
  const groups = body['txn-groups']
  const result: unknown = Array.isArray(groups) && groups.length === 1 ? groups[0] : undefined
  if (!isRecord(result) || !Array.isArray(result['txn-results'])) throw unavailable('no simulated group')
  const { 'failure-message': failure = '' } = result
  if (typeof failure !== 'string') throw unavailable('failure-message is no text')
  return failure === '' ? undefined : failure
}

const POLL_MS = 200

export async function awaitFate(
  node: Pick<FacilitatorNode, 'fateOf' | 'nextRound'>,
  clock: Pick<Clock, 'monotonic' | 'after'>,
  txId: string,
  untilMs: number,
): Promise<Extract<Fate, { is: 'landed' | 'dropped' }> | undefined> {
  for (;;) {
    const fate = await node.fateOf(txId).catch(() => undefined)
    if (fate?.is === 'landed' || fate?.is === 'dropped') return fate
    const leftMs = untilMs - clock.monotonic()
    if (leftMs <= 0) return undefined
    const round = withTimeout(clock, leftMs, node.nextRound())
    // Not sooner than `POLL_MS`: a node that fails, or that lies about rounds, answers at once.
    await Promise.all([round.catch(() => {}), sleep(clock, POLL_MS)])
  }
}
