/** A node between a facilitator and the sandbox's: it stalls, lies, dies, or keeps what it was sent in a pool of its own. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { decodeSignedTransaction } from 'algosdk'
import { txIdOf } from '../../src/adapters/algorand/transaction-hashes.js'
import { splitValues } from '../../src/sandbox/algod/transaction-routes.js'
import type { Sandbox } from '../../src/sandbox.js'

export type Step = 'params' | 'simulate' | 'submit' | 'pending' | 'wait' | 'other'

/**
 * `die`: before the sandbox hears of it. `die-after`: when the sandbox has done it. `twice`: asks the sandbox twice, as a proxy may,
 * and answers with its second reply. A reply is sent instead of the sandbox's.
 */
export type Fault =
  | 'hang'
  | 'die'
  | 'die-after'
  | 'twice'
  | { readonly status: number; readonly text: string }

export interface FaultyNode {
  readonly url: string
  /** The steps that were asked, oldest first. */
  readonly asked: readonly Step[]
  /** What it was sent at this step, oldest first. */
  sent(step: Step): readonly Buffer[]
  /** What happens at this step from now on; `undefined` is the sandbox's own answer. */
  set(step: Step, fault: Fault | undefined): void
  /** Keeps groups in a pool instead of landing them. */
  pool(): void
  /** Lands what is in the pool. */
  land(): Promise<void>
  /** Drops what is in the pool, as a node does whose rounds went past it. */
  drop(poolError: string): void
  /** Resolves when this step was asked so often, from the start. */
  reached(step: Step, times?: number): Promise<void>
  /** Resolves when a group is in the pool. */
  pooled(): Promise<void>
  close(): Promise<void>
}

const JSON_TYPE = { 'content-type': 'application/json' }

export async function faultyNode(sandbox: Sandbox): Promise<FaultyNode> {
  const faults = new Map<Step, Fault>()
  const asked: Step[] = []
  const bodies: [Step, Buffer][] = []
  const watchers = new Set<() => void>()
  const pool = new Map<string, Buffer>()
  const dropped = new Map<string, string>()
  let pooling = false
  let notePooled = () => {}
  let firstPooled = new Promise<void>(resolve => {
    notePooled = resolve
  })

  async function forward(path: string, body: Buffer | undefined) {
    const type = { 'content-type': 'application/msgpack' }
    const init = body && { method: 'POST', headers: type, body: Uint8Array.from(body) }
    const response = await fetch(sandbox.algodUrl + path, init)
    return { status: response.status, text: await response.text() }
  }

  function fromPool(step: Step, path: string, body: Buffer | undefined) {
    const said = (status: number, value: object) => ({ status, text: JSON.stringify(value) })
    if (step === 'submit' && pooling) {
      const ids = idsIn(body!)
      const known = ids.find(id => pool.has(id))
      if (known !== undefined)
        return said(400, {
          message: `TransactionPool.Remember: transaction already in ledger: ${known}`,
        })
      for (const id of ids) pool.set(id, body!)
      notePooled()
      return said(200, { txId: ids[0] })
    }
    const txId = /pending\/([A-Z2-7]+)/.exec(path)?.[1]
    if (txId !== undefined && pool.has(txId)) return said(200, { 'pool-error': '', txn: {} })
    if (txId !== undefined && dropped.has(txId)) {
      return said(200, { 'pool-error': dropped.get(txId), txn: {} })
    }
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url!
    const body = request.method === 'POST' ? await buffer(request) : undefined
    const step = stepOf(path)
    asked.push(step)
    if (body) bodies.push([step, body])
    for (const look of watchers) look()
    const fault = faults.get(step)
    if (fault === 'hang') return
    if (fault === 'die') return void request.socket.destroy()
    if (typeof fault === 'object') return void response.writeHead(fault.status, JSON_TYPE).end(fault.text)
    if (fault === 'twice') await forward(path, body)
    const reply = fromPool(step, path, body) ?? (await forward(path, body))
    if (fault === 'die-after') return void request.socket.destroy()
    response.writeHead(reply.status, JSON_TYPE).end(reply.text)
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => request.socket.destroy())
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    sent: step => bodies.flatMap(([at, body]) => (at === step ? [body] : [])),
    set(step, fault) {
      if (fault === undefined) faults.delete(step)
      else faults.set(step, fault)
    },
    pool() {
      pooling = true
    },
    async land() {
      const bodies = new Set(pool.values())
      pool.clear()
      pooling = false
      for (const body of bodies) await forward('/v2/transactions', body)
      sandbox.advanceRounds(1)
    },
    drop(poolError) {
      for (const id of pool.keys()) dropped.set(id, poolError)
      pool.clear()
      firstPooled = new Promise<void>(resolve => {
        notePooled = resolve
      })
      sandbox.advanceRounds(1)
    },
    reached: (step, times = 1) =>
      new Promise(resolve => {
        const look = () => {
          if (asked.filter(one => one === step).length < times) return
          watchers.delete(look)
          resolve()
        }
        watchers.add(look)
        look()
      }),
    pooled: () => firstPooled,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function stepOf(path: string): Step {
  if (path.includes('/params')) return 'params'
  if (path.includes('/simulate')) return 'simulate'
  if (path.includes('/pending/')) return 'pending'
  if (path.includes('/wait-for-block-after/')) return 'wait'
  return path.endsWith('/v2/transactions') ? 'submit' : 'other'
}

function idsIn(body: Buffer): string[] {
  return splitValues(body, 16).map(bytes => txIdOf(decodeSignedTransaction(bytes).txn))
}
