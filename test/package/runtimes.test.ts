/**
 * The packed package on every runtime: Node 20 and 24, Bun, Deno, and Workers through workerd. Each sells over HTTP and is
 * paid by a client on Node; each pays a seller on Node; each meets a hostile facilitator. The sandbox is in this process.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { undiciExchange } from '../../src/adapters/outbound/undici-exchange.js'
import { defineEndpoint } from '../../src/index.js'
import type { ExchangeReply } from '../../src/ports/exchange.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { FAULTS } from '../adapters/facilitator/fault-replies.js'
import { type Heard, hear } from '../cli/run.js'
import { closing } from '../support/closing.js'
import { type PackedPackage, unpackPacked } from '../support/packed-package.js'
import { type RuntimeName, runtimePath } from '../support/runtimes.js'
import { ask, challengeIn, open, receiptIn, type Seller, signFor } from '../support/seller.js'
import { workerdConfig } from '../support/workerd.js'
import { gateServer, hostileServer, webhookServer } from './runtimes.servers.js'

const PRICE = 10_000n
const BODY = { text: 'hello' }
const INSTALL_MS = 900_000

interface Runtime {
  readonly name: string
  readonly program: RuntimeName
  /** What starts a file of `runtimes/`. */
  readonly run?: readonly string[]
  readonly seller: string
}

const RUNTIMES: readonly Runtime[] = [
  { name: 'Node 20', program: 'node20', seller: 'seller.node.mjs' },
  { name: 'Node 24', program: 'node24', seller: 'seller.node.mjs' },
  { name: 'Bun', program: 'bun', seller: 'seller.bun.mjs' },
  {
    name: 'Deno',
    program: 'deno',
    run: ['run', '--allow-all', '--node-modules-dir=manual'],
    seller: 'seller.deno.mjs',
  },
  { name: 'Workers', program: 'workerd', seller: 'seller.worker.mjs' },
]

let packed: PackedPackage
let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
  packed = await unpackPacked()
  await cp(fileURLToPath(new URL('runtimes', import.meta.url)), packed.project, { recursive: true })
  for (const { program } of RUNTIMES) await runtimePath(program)
}, INSTALL_MS)
afterAll(async () => {
  await packed?.close()
  await sandbox?.close()
})

interface Running {
  readonly heard: Heard
  readonly process: ChildProcess
  close(): Promise<void>
}

async function start(
  { program, run = [] }: Runtime,
  file: string,
  env: Record<string, string>,
): Promise<Running> {
  const isWorker = program === 'workerd'
  const objects = file === 'seller.worker.mjs' ? { className: 'Seller', binding: 'SELLER' } : undefined
  const args = isWorker
    ? ['serve', '--control-fd=1', await workerdConfig({ folder: packed.project, entry: file, env, objects })]
    : [...run, file]
  const child = spawn(await runtimePath(program), args, {
    cwd: packed.project,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
  })
  return {
    heard: hear(child),
    process: child,
    async close() {
      if (child.exitCode !== null) return
      child.kill('SIGKILL')
      await once(child, 'close')
    },
  }
}

/** Runs one of `errands.mjs`, and answers what it answered. */
async function errand(runtime: Runtime, name: string, env: Record<string, string>): Promise<unknown> {
  const file = runtime.program === 'workerd' ? 'errand.worker.mjs' : 'errand.process.mjs'
  const { heard } = closing(await start(runtime, file, { ERRAND: name, ...env }))
  if (runtime.program !== 'workerd') return JSON.parse((await heard.until(/^\{"done":.*\}$/m))[0]).done
  const [, port] = await heard.until(/"port":(\d+)/)
  return ((await (await fetch(`http://127.0.0.1:${port}`)).json()) as { done: unknown }).done
}

describe.each(RUNTIMES)('on $name', runtime => {
  let running: Running
  let url: (path: string) => string
  let earned: () => bigint
  let mnemonic: string
  let webhook: Awaited<ReturnType<typeof webhookServer>>
  beforeAll(async () => {
    webhook = await webhookServer()
    const payee = sandbox.accounts(`seller on ${runtime.name}`)
    mnemonic = sandbox.accounts(`buyer from ${runtime.name}`).mnemonic
    running = await start(runtime, runtime.seller, {
      PAY_TO: payee.address,
      SANDBOX: sandbox.url,
      WEBHOOK: webhook.url,
    })
    const [, port] = await running.heard.until(/"(?:ready|port)":(\d+)/)
    url = path => `http://127.0.0.1:${port}/${path}`
    let before = sandbox.balance(payee.address).usdc!
    earned = () => {
      const now = sandbox.balance(payee.address).usdc!
      const since = now - before
      before = now
      return since
    }
  })
  afterAll(async () => {
    await running?.close()
    webhook?.close()
  })

  const seller = () => ({ sandbox }) as Seller
  const sign = (path: string, body: unknown = BODY) => signFor(seller(), url(path), { body, mnemonic })
  let keys = 0
  const newKey = () => ({ 'idempotency-key': `a-key-that-no-stranger-guesses-${runtime.program}-${++keys}` })

  it('a path that nobody sells is 404, and another method 405', async () => {
    expect((await ask(url('nothing'), { body: BODY })).status).toBe(404)
    const put = await ask(url('shout'), { method: 'PUT', body: BODY })
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'POST, OPTIONS'])
  })

  it('a call is quoted, sold once, and replayed by its key', async () => {
    const quoted = await ask(url('shout'), { body: BODY })
    expect([quoted.status, challengeIn(quoted).resource.url]).toEqual([402, url('shout')])
    const headers = { ...(await sign('shout')), ...newKey() }
    const answer = await ask(url('shout'), { body: BODY, headers })
    expect([answer.status, await answer.json()]).toEqual([200, { said: 'HELLO', run: 1 }])
    expect(receiptIn(answer)).toMatchObject({ success: true, amount: String(PRICE) })
    await expect
      .poll(async () => {
        const again = await ask(url('shout'), { body: BODY, headers })
        return [again.status, again.headers.get('idempotency-replayed'), await again.text()]
      })
      .toEqual([200, 'true', '{"said":"HELLO","run":1}'])
    expect(earned()).toBe(PRICE)
    expect((await webhook.first).txId).toBe(receiptIn(answer).transaction)
  })

  it('input that does not fit its schema, and a handler that fails, cost nothing', async () => {
    const invalid = await ask(url('shout'), { body: { text: 7 }, headers: await sign('shout') })
    expect([invalid.status, await codeOf(invalid)]).toEqual([400, 'invalid_input'])
    const failed = await ask(url('fail'), { body: BODY, headers: await sign('fail') })
    expect([failed.status, await codeOf(failed)]).toEqual([500, 'handler_error'])
    expect(earned()).toBe(0n)
  })

  const hangsUp = 'whose caller hangs up while its handler works'
  // workerd by itself tells a Worker nothing until it writes: neither `request.signal` nor an end of its work. Measured with
  // 1.20261117.1, with and without `enable_request_signal`. On Cloudflare's own network this is not tested here.
  const isTold = runtime.program !== 'workerd'
  it(`a call ${hangsUp} ${isTold ? 'ends uncharged' : 'goes on, and is charged once'}`, async () => {
    const door = closing(await gateServer())
    const body = { until: door.url }
    const headers = await sign('slow', body)
    const caller = new AbortController()
    const call = ask(url('slow'), { body, headers, signal: caller.signal })
    await door.entered
    caller.abort()
    await expect(call).rejects.toThrow()
    if (isTold) await running.heard.until(/"aborted":"slow"/)
    else door.open()
    await running.heard.until(isTold ? /slow abandoned no/ : /slow settled yes/)
    expect(earned()).toBe(isTold ? 0n : PRICE)
  })

  it('an answer that its caller cut off did not arrive: its key is free again', async () => {
    const headers = { ...(await sign('large')), ...newKey() }
    const caller = new AbortController()
    const answer = await ask(url('large'), { body: BODY, headers, signal: caller.signal })
    const { value } = await answer.body!.getReader().read()
    expect(value!.length).toBeGreaterThan(0)
    caller.abort()
    // With its key kept, another body would be refused for the key; with its key free, for its payment, which was spent.
    const again = async () => codeOf(await ask(url('large'), { body: { ...BODY, other: 1 }, headers }))
    await expect.poll(again).toBe('payment_spent')
    expect(earned()).toBe(PRICE)
  })

  it('a client pays a seller on Node', async () => {
    const onNode = await open(
      [defineEndpoint({ name: 'echo', price: '$0.02', handler: ({ body }) => ({ echoed: body }) })],
      { sandbox },
    )
    const buyer = sandbox.accounts(`client on ${runtime.name}`)
    const before = [buyer, sandbox.seller].map(({ address }) => sandbox.balance(address).usdc!)
    const bought = await errand(runtime, 'buy', {
      MNEMONIC: buyer.mnemonic,
      SANDBOX: sandbox.url,
      SELLER_URL: `${onNode.url}/echo`,
    })
    const after = [buyer, sandbox.seller].map(({ address }) => sandbox.balance(address).usdc!)
    expect(after).toEqual([before[0]! - 2n * PRICE, before[1]! + 2n * PRICE])
    const { txId } = sandbox.transactions().at(-1)!
    expect(bought).toEqual({ data: { echoed: BODY }, txId, usdc: String(after[0]) })
  })

  it('hostile answers of a facilitator are what they are to undici', async () => {
    const hostile = closing(await hostileServer())
    const paths = FAULTS.map((_, at) => `/${at}`)
    const env = { HOSTILE_URL: hostile.url, PATHS: paths.join(' '), TIMEOUT_MS: '5000' }
    const undici = undiciExchange(hostile.url, {
      connectionsMax: FAULTS.length,
      bytesMax: 64 * 1024,
      isEnough: status => status >= 500,
    })
    const [heard, ...expected] = await Promise.all([
      errand(runtime, 'ask', env) as Promise<ExchangeReply[]>,
      ...paths.map(path => undici.send({ method: 'POST', path, headers: {}, body: '{}', timeoutMs: 5_000 })),
    ])
    await undici.destroy()
    const named = (replies: readonly ExchangeReply[]) =>
      replies.map((reply, at) => [FAULTS[at]![0], 'failed' in reply ? 'failed' : reply])
    expect(named(heard)).toEqual(named(expected))
  })
})

async function codeOf(response: Response): Promise<string> {
  return ((await response.json()) as { error: { code: string } }).error?.code
}
