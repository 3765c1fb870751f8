import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import {
  type Algod,
  algodClient,
  type Indexer,
  indexerClient,
} from '../../src/adapters/algorand/algod-and-indexer.js'
import { algorandChain } from '../../src/adapters/algorand/chain-reader.js'
import { algorandPaymentSigner } from '../../src/adapters/algorand/sign-payment-group.js'
import { signingKey } from '../../src/adapters/algorand/signing-keys.js'
import { MAINNET, TESTNET } from '../../src/domain/network.js'
import { systemClock } from '../../src/ports/clock.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { down, indexAt as index, emptyNode as node } from '../support/empty-node.js'
import { fakeNode } from '../support/fake-node.js'
import { payerOf } from '../support/sandbox-payment.js'

const TX = 'T'.repeat(52)
const WINDOW = { firstValid: 100n, lastValid: 110n }

describe('a lookup on the sandbox', () => {
  let sandbox: Sandbox
  let algod: Algod
  beforeAll(async () => {
    sandbox = await startSandbox()
    algod = algodClient({ url: sandbox.algodUrl, nodeTimeoutMs: 20_000 })
  })
  afterAll(async () => {
    await algod.close()
    await sandbox.close()
  })

  it('finds what has landed, at once and after its window', async () => {
    const payment = await pay('settle')
    const chain = algorandChain({ network: TESTNET, algod })
    expect(await chain.lookup(payment.txId, payment)).toBe('found')
    sandbox.advanceRounds(40)
    const forgetful = { ...algod, confirmedRound: async () => undefined }
    const blocksOnly = algorandChain({ network: TESTNET, algod: forgetful })
    expect(await blocksOnly.lookup(payment.txId, payment)).toBe('found')
  })

  it('knows nothing of what has not landed until its window has closed, and then that it never will', async () => {
    const payment = await pay('nothing')
    const chain = algorandChain({ network: TESTNET, algod })
    expect(await chain.lookup(payment.txId, payment)).toBe('unknown')
    sandbox.advanceRounds(Number(payment.lastValid - sandbox.round()))
    if (sandbox.round() === payment.lastValid) {
      expect(await chain.lookup(payment.txId, payment)).toBe('unknown')
    }
    sandbox.advanceRounds(1)
    expect(await chain.lookup(payment.txId, payment)).toBe('absent')
  })

  it('proves nothing about rounds from before the sandbox was started', async () => {
    const chain = algorandChain({ network: TESTNET, algod })
    const firstValid = sandbox.round() - 100_000n
    expect(await chain.lookup(TX, { firstValid, lastValid: firstValid + 10n })).toBe('unknown')
  })

  async function pay(how: 'settle' | 'nothing') {
    const key = signingKey(sandbox.wallet.mnemonic)
    const signer = algorandPaymentSigner({ key, network: TESTNET, algod, paramsMaxAgeMs: 0 })
    const payment = await payerOf(sandbox, signer)()
    if (how === 'settle') {
      await fetch(`${sandbox.url}/settle`, { method: 'POST', body: JSON.stringify(payment.body) })
    }
    return payment
  }
})

describe('absent is a proof', () => {
  it.each<[string, Partial<Algod>, Indexer | undefined, string]>([
    ['all blocks answered, none has it', {}, undefined, 'absent'],
    [
      'the first block has it',
      { blockTxIds: async round => (round === 100n ? [TX] : []) },
      undefined,
      'found',
    ],
    [
      'the last block has it',
      { blockTxIds: async round => (round === 110n ? [TX] : []) },
      undefined,
      'found',
    ],
    ['the pool knows it', { confirmedRound: async () => 105n, blockTxIds: down }, undefined, 'found'],
    ['the pool errs, the blocks answer', { confirmedRound: down }, undefined, 'absent'],
    ['the node is at the last round itself', { lastRound: async () => 110n }, undefined, 'unknown'],
    ['the node lags', { lastRound: async () => 90n }, index(false, 200n), 'unknown'],
    ['the node’s status errs', { lastRound: down }, undefined, 'unknown'],
    ['one block errs', { blockTxIds: async r => (r === 107n ? down() : []) }, undefined, 'unknown'],
    ['one block errs, an indexer is past it', { blockTxIds: down }, index(false, 111n), 'absent'],
    ['one block errs, an indexer has it', { blockTxIds: down }, index(true, 105n), 'found'],
    ['one block errs, an indexer lags', { blockTxIds: down }, index(false, 110n), 'unknown'],
    [
      'one block errs, an indexer follows another chain',
      { blockTxIds: down },
      index(false, 9_999n),
      'unknown',
    ],
    ['all blocks answered, an indexer lags', {}, index(false, 90n), 'absent'],
    [
      'one block errs, an indexer is a thousand rounds ahead',
      { blockTxIds: down },
      index(false, 1_111n),
      'absent',
    ],
    [
      'one block errs, an indexer is ahead by one more',
      { blockTxIds: down },
      index(false, 1_112n),
      'unknown',
    ],
    ['the node is on another network', { suggestedParams: otherNetwork }, undefined, 'unknown'],
    ['the node does not say on which network it is', { suggestedParams: down }, undefined, 'unknown'],
  ])('%s', async (_, changes, indexer, landing) => {
    const chain = algorandChain({ network: TESTNET, algod: node(changes), indexer })
    expect(await chain.lookup(TX, WINDOW)).toBe(landing)
  })

  it.each([
    [undefined, 'unknown'],
    [index(false, 1_200n), 'absent'],
    [index(false, 1_100n), 'unknown'],
    [index(true, 1_100n), 'found'],
  ])('a window too wide for blocks is the indexer’s to answer', async (indexer, landing) => {
    const algod = node({ lastRound: async () => 1_150n, blockTxIds: down })
    const chain = algorandChain({ network: TESTNET, algod, indexer })
    expect(await chain.lookup(TX, { firstValid: 100n, lastValid: 1_100n })).toBe(landing)
  })

  it.each([
    [127n, 'absent', 128],
    [128n, 'unknown', 0],
  ])(
    'in blocks takes one request a round, so %s rounds and one are read or not',
    async (rounds, landing, reads) => {
      let read = 0
      const blockTxIds = async () => {
        read++
        return []
      }
      const chain = algorandChain({
        network: TESTNET,
        algod: node({ lastRound: async () => 900n, blockTxIds }),
      })
      expect(await chain.lookup(TX, { firstValid: 100n, lastValid: 100n + rounds })).toBe(landing)
      expect(read).toBe(reads)
    },
  )

  it('is of one payment and one window: another one is searched for by itself', async () => {
    const other = 'U'.repeat(52)
    const blockTxIds = async (round: bigint) => (round === 105n ? [other] : round === 120n ? [TX] : [])
    const algod = node({ lastRound: async () => 200n, blockTxIds })
    const chain = algorandChain({ network: TESTNET, algod })
    const asked: readonly [string, bigint, bigint, string][] = [
      [TX, 100n, 110n, 'absent'],
      [other, 100n, 110n, 'found'],
      [TX, 100n, 130n, 'found'],
      [TX, 90n, 110n, 'absent'],
      [TX, 121n, 130n, 'absent'],
    ]
    for (const [txId, firstValid, lastValid, landing] of asked)
      expect(await chain.lookup(txId, { firstValid, lastValid })).toBe(landing)
  })

  it('is not needed for what a block has: the node may fall silent after it', async () => {
    let asked = 0
    const { suggestedParams } = node()
    const algod = node({
      suggestedParams: () => (++asked === 1 ? suggestedParams() : down()),
      blockTxIds: async () => [TX],
    })
    expect(await algorandChain({ network: TESTNET, algod }).lookup(TX, WINDOW)).toBe('found')
  })

  it('is known of the last thousand payments', async () => {
    let read = 0
    const blockTxIds = async () => {
      read++
      return []
    }
    const chain = algorandChain({ network: TESTNET, algod: node({ blockTxIds }) })
    const readFor = async (at: number) => {
      read = 0
      expect(await chain.lookup(`T${at}`, { firstValid: 100n, lastValid: 101n })).toBe('absent')
      return read
    }
    for (let at = 0; at <= 1_000; at++) expect(await readFor(at)).toBe(2)
    expect([await readFor(1), await readFor(1_000), await readFor(0)]).toEqual([0, 0, 2])
  })

  it('is made once, for all who ask at once and later; what proves nothing is read again', async () => {
    let read = 0
    let isDown = true
    const algod = node({
      blockTxIds: async () => {
        read++
        return isDown ? down() : []
      },
    })
    const chain = algorandChain({ network: TESTNET, algod })
    const askTwice = () => Promise.all([chain.lookup(TX, WINDOW), chain.lookup(TX, WINDOW)])
    expect(await askTwice()).toEqual(['unknown', 'unknown'])
    isDown = false
    read = 0
    expect(await askTwice()).toEqual(['absent', 'absent'])
    expect(await chain.lookup(TX, WINDOW)).toBe('absent')
    expect(read).toBe(11)
  })

  it('an indexer’s own answers are read, not believed', async () => {
    let body: unknown = { 'current-round': 7, transactions: [{ id: TX }] }
    const server = await fakeNode(() => body)
    const indexer = indexerClient({ url: server.url, token: 'secret' })
    expect(await indexer.find(TX)).toEqual({ found: true, currentRound: 7n })
    expect(server.headers[0]!['x-indexer-api-token']).toBe('secret')
    body = { 'current-round': 7, transactions: [{ id: 'another' }, null] }
    expect(await indexer.find(TX)).toEqual({ found: false, currentRound: 7n })
    for (body of [
      { 'current-round': 7 },
      { transactions: [] },
      { 'current-round': '7', transactions: [] },
      [],
    ]) {
      await expect(indexer.find(TX)).rejects.toMatchObject({ code: 'node_unavailable' })
    }
    await indexer.close()
    await server.close()
  })
})

describe('whether a payment has landed', () => {
  it('is asked once for all who ask now, and again later', async () => {
    let asked = 0
    let landed: (round: bigint | undefined) => void = () => {}
    const confirmedRound = () => {
      asked++
      return new Promise<bigint | undefined>(resolve => (landed = resolve))
    }
    const chain = algorandChain({ network: TESTNET, algod: node({ confirmedRound }) })
    for (const [round, answer] of [
      [undefined, false],
      [105n, true],
    ] as const) {
      asked = 0
      const both = Promise.all([chain.hasLanded(TX), chain.hasLanded(TX)])
      await settled()
      landed(round)
      expect(await both).toEqual([answer, answer])
      expect(asked).toBe(1)
    }
  })

  it('is not known where the node fails, or where no node of ours answers: that one is not asked', async () => {
    let asked = 0
    const landedOn = (changes: Partial<Algod>) => {
      const confirmedRound = async () => {
        asked++
        return 105n
      }
      return algorandChain({ network: TESTNET, algod: node({ confirmedRound, ...changes }) }).hasLanded(TX)
    }
    expect(await landedOn({ suggestedParams: otherNetwork })).toBeUndefined()
    expect(await landedOn({ suggestedParams: down })).toBeUndefined()
    expect(asked).toBe(0)
    expect(await landedOn({ confirmedRound: down })).toBeUndefined()
    expect(await landedOn({})).toBe(true)
  })
})

describe('the current round', () => {
  /** A chain whose node and clock the test moves. */
  function moving(first: () => Promise<bigint>) {
    const world = { nowMs: 0, asked: 0, answer: first }
    const lastRound = () => {
      world.asked++
      return world.answer()
    }
    const chain = algorandChain({
      network: TESTNET,
      algod: node({ lastRound }),
      clock: { ...systemClock, monotonic: () => world.nowMs },
    })
    return { world, round: chain.round }
  }

  it('is asked for once by many, and grows no faster than a slow network', async () => {
    const { world, round } = moving(async () => 1_000n)
    expect(await Promise.all([round(), round(), round()])).toEqual([1_000n, 1_000n, 1_000n])
    world.nowMs = 2_999
    expect(await round()).toBe(1_000n)
    expect(world.asked).toBe(1)
    world.nowMs = 3_301
    world.answer = async () => 1_002n
    expect(await round()).toBe(1_001n)
    await settled()
    expect(world.asked).toBe(2)
    expect(await round()).toBe(1_002n)
  })

  it('is asked for again after three seconds, whenever the first question was', async () => {
    const { world, round } = moving(async () => 1_000n)
    world.nowMs = 70_000
    await round()
    for (const [nowMs, asked] of [
      [72_999, 1],
      [73_000, 2],
      [75_999, 2],
    ] as const) {
      world.nowMs = nowMs
      await round()
      await settled()
      expect(world.asked).toBe(asked)
    }
  })

  it('is given up when the node has not answered for long', async () => {
    const { world, round } = moving(async () => 1_000n)
    await round()
    world.answer = down
    world.nowMs = 10_000
    expect(await round()).toBe(1_003n)
    await settled()
    world.nowMs = 14_999
    expect(await round()).toBe(1_004n)
    world.nowMs = 15_000
    expect(await round()).toBeUndefined()
  })

  it('of a dead node costs one wait, and a question every five seconds', async () => {
    const { world, round } = moving(down)
    expect(await round()).toBeUndefined()
    for (world.nowMs = 0; world.nowMs < 4_999; world.nowMs += 500) expect(await round()).toBeUndefined()
    expect(world.asked).toBe(1)
    world.nowMs = 5_000
    let answer: (round: bigint) => void = () => {}
    world.answer = () => new Promise(resolve => (answer = resolve))
    // Nobody waits for it a second time, even though it is being asked.
    expect(await round()).toBeUndefined()
    expect(world.asked).toBe(2)
    answer(70n)
    await settled()
    expect(await round()).toBe(70n)
  })
})

describe('a node of another network', () => {
  /** A node that is replaced while it is asked, and what its watch was told. */
  function replaceable() {
    const told: [string, string | undefined][] = []
    const world = { hash: TESTNET.genesisHash, down: false, nowMs: 0, onBlock: (): unknown => undefined }
    const algod = node({
      suggestedParams: async () => {
        if (world.down) return down()
        return { ...(await node().suggestedParams()), genesisHash: world.hash }
      },
      blockTxIds: async () => {
        world.onBlock()
        return []
      },
    })
    const chainOf = (everyMs?: number) =>
      algorandChain({
        network: TESTNET,
        algod,
        clock: { ...systemClock, monotonic: () => world.nowMs },
        ...(everyMs && { watch: { everyMs, onChange: (...change) => void told.push(change) } }),
      })
    return { world, told, chainOf }
  }

  it('has no round, whatever was known before, until it is ours again', async () => {
    const { world, chainOf } = replaceable()
    const chain = chainOf()
    expect(chain.status()).toBe('unasked')
    expect(await chain.round()).toBe(111n)
    expect(chain.status()).toBe('ok')
    world.hash = MAINNET.genesisHash
    world.nowMs = 3_001
    await chain.round()
    await settled()
    expect(chain.status()).toBe('wrongNetwork')
    expect(await chain.round()).toBeUndefined()
    world.hash = TESTNET.genesisHash
    world.nowMs = 9_000
    await chain.round()
    await settled()
    expect(chain.status()).toBe('ok')
    expect(await chain.round()).toBe(111n)
  })

  it('never had a round at all', async () => {
    const { world, chainOf } = replaceable()
    world.hash = MAINNET.genesisHash
    expect(await chainOf().round()).toBeUndefined()
  })

  it('proves nothing after it was right once', async () => {
    const { world, chainOf } = replaceable()
    const chain = chainOf()
    expect(await chain.lookup(TX, WINDOW)).toBe('absent')
    world.hash = MAINNET.genesisHash
    expect(await chain.lookup(TX, WINDOW)).toBe('unknown')
  })

  it('proves nothing where it took over while the blocks were read', async () => {
    const { world, chainOf } = replaceable()
    const chain = chainOf()
    world.onBlock = () => {
      world.hash = MAINNET.genesisHash
    }
    expect(await chain.lookup(TX, WINDOW)).toBe('unknown')
    let read = 0
    world.onBlock = () => read++
    world.hash = TESTNET.genesisHash
    expect(await chain.lookup(TX, WINDOW)).toBe('absent')
    expect(read).toBe(11)
  })

  it('stays one while it is silent', async () => {
    const { world, chainOf } = replaceable()
    const chain = chainOf()
    world.hash = MAINNET.genesisHash
    await chain.lookup(TX, WINDOW)
    world.down = true
    await chain.lookup(TX, WINDOW)
    expect(chain.status()).toBe('wrongNetwork')
  })

  it('is told by its name, at once and where another one takes its place', async () => {
    vi.useFakeTimers()
    try {
      const { world, told, chainOf } = replaceable()
      world.hash = MAINNET.genesisHash
      const chain = chainOf(1_000)
      await vi.advanceTimersByTimeAsync(0)
      await expect(chain.lookup(TX, WINDOW)).resolves.toBe('unknown')
      world.hash = 'another'
      await vi.advanceTimersByTimeAsync(1_000)
      expect(told).toEqual([
        ['wrongNetwork', MAINNET.genesisHash],
        ['wrongNetwork', 'another'],
      ])
      chain.close()
    } finally {
      vi.useRealTimers()
    }
  })

  it('is not looked for again after the end, which may come while it is asked, or without a watch', async () => {
    vi.useFakeTimers()
    try {
      const { world, told, chainOf } = replaceable()
      chainOf().close()
      const chain = chainOf(1_000)
      world.hash = MAINNET.genesisHash
      chain.close()
      await vi.advanceTimersByTimeAsync(3_000)
      expect([vi.getTimerCount(), told]).toEqual([0, []])
    } finally {
      vi.useRealTimers()
    }
  })

  it('is noticed without a call, and each change is told once', async () => {
    vi.useFakeTimers()
    try {
      const { world, told, chainOf } = replaceable()
      const chain = chainOf(1_000)
      await vi.advanceTimersByTimeAsync(2_500)
      expect([chain.status(), told]).toEqual(['ok', []])
      world.hash = MAINNET.genesisHash
      await vi.advanceTimersByTimeAsync(3_000)
      expect([chain.status(), told]).toEqual(['wrongNetwork', [['wrongNetwork', MAINNET.genesisHash]]])
      world.hash = TESTNET.genesisHash
      await vi.advanceTimersByTimeAsync(3_000)
      world.down = true
      await vi.advanceTimersByTimeAsync(3_000)
      expect(told.slice(1)).toEqual([
        ['ok', undefined],
        ['unanswered', undefined],
      ])
      chain.close()
      world.down = false
      await vi.advanceTimersByTimeAsync(3_000)
      expect(chain.status()).toBe('unanswered')
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })
})

async function otherNetwork() {
  return { ...(await node().suggestedParams()), genesisHash: MAINNET.genesisHash }
}

function settled(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
