/** What the limits set aside and refuse, without a seller: the test plays the ledger and the look-ups. */
import { describe, expect, it } from 'vitest'
import { type Caps, ledgerOption, spendingLimits } from '../../src/app/client/spending-limits.js'
import { memorySpendLedger } from '../../src/client.js'
import type { PaymentRequirements } from '../../src/domain/x402.js'
import type { SignedPayment } from '../../src/ports/payment-signer.js'
import { systemRandom } from '../../src/ports/random.js'
import type { SpendLedger } from '../../src/ports/spend-ledger.js'
import { gate } from '../support/gate.js'

const asking = (amount: string) => ({ amount }) as PaymentRequirements
const signed = { txId: 'A'.repeat(52), firstValid: 1n, lastValid: 9n } as SignedPayment

function make(caps: Caps, changes: Partial<SpendLedger> = {}, settle: () => Promise<void> = async () => {}) {
  const ledger = memorySpendLedger()
  let settled = 0
  const late = {
    settle() {
      settled++
      return settle()
    },
  }
  // Not spread: the sum is a getter.
  const used: SpendLedger = Object.create(ledger, Object.getOwnPropertyDescriptors(changes))
  const made = spendingLimits({ ledger: used, network: 'testnet', caps, late, random: systemRandom })
  return { limits: made, ledger, settled: () => settled }
}

describe('the price limit', () => {
  const aboveMax = {
    code: 'price_above_max',
    status: 402,
    message: 'The call costs $0.010001, the limit is $0.01; nothing was paid',
    detail: asking('10001'),
  }

  it('refuses what is a unit above it, and sets nothing aside', async () => {
    const { limits, ledger, settled } = make({ maxPrice: 10_000n })
    expect(await limits.refusalOf(asking('10001'))).toMatchObject(aboveMax)
    await expect(limits.reserve(asking('10001'))).rejects.toMatchObject(aboveMax)
    expect(ledger.spentBaseUnits).toBe(0n)
    expect(settled()).toBe(0)
  })

  it('is the lower one of the client’s and the call’s', async () => {
    const { limits } = make({ maxPrice: 10_000n })
    for (const [amount, maxPrice, told] of [
      ['5001', 5_000n, '$0.005001, the limit is $0.005;'],
      ['10001', 20_000n, '$0.010001, the limit is $0.01;'],
    ] as const) {
      const refused = limits.reserve(asking(amount), { maxPrice })
      const message = expect.stringContaining(told)
      await expect(refused).rejects.toMatchObject({ message })
      expect(await limits.refusalOf(asking(amount), { maxPrice })).toMatchObject({ message })
    }
    await make({}).limits.reserve(asking('5000'), { maxPrice: 5_000n })
  })

  it('admits its own amount', async () => {
    const { limits, ledger } = make({ maxPrice: 10_000n })
    expect(await limits.refusalOf(asking('10000'))).toBeUndefined()
    await limits.reserve(asking('10000'))
    expect(ledger.spentBaseUnits).toBe(10_000n)
  })

  it('refuses also where the day’s limit would admit it', async () => {
    const { limits } = make({ maxPrice: 1n, maxPerDay: 100n })
    await expect(limits.reserve(asking('2'))).rejects.toMatchObject({ code: 'price_above_max' })
    expect(await limits.refusalOf(asking('2'))).toMatchObject({ code: 'price_above_max' })
  })
})

describe('the day’s limit', () => {
  const beyond = {
    code: 'daily_cap_reached',
    status: 402,
    message: 'The call costs $0.03, which would exceed the $0.05 for 24 hours; nothing was paid',
  }

  it('admits the last unit under it, and asks no chain as long as there is room', async () => {
    const { limits, settled } = make({ maxPerDay: 50_000n })
    expect(await limits.refusalOf(asking('50000'))).toBeUndefined()
    await limits.reserve(asking('20000'))
    expect(await limits.refusalOf(asking('30000'))).toBeUndefined()
    await limits.reserve(asking('30000'))
    expect(limits.remaining).toBe(0n)
    expect(settled()).toBe(0)
  })

  it('refuses what would exceed it once the chain has been asked', async () => {
    const { limits, ledger, settled } = make({ maxPerDay: 50_000n })
    await limits.reserve(asking('20001'))
    expect(await limits.refusalOf(asking('30000'))).toMatchObject(beyond)
    await expect(limits.reserve(asking('30000'))).rejects.toMatchObject(beyond)
    expect(settled()).toBe(2)
    expect(ledger.spentBaseUnits).toBe(20_001n)
  })

  it('admits what there is room for again once the chain has been asked', async () => {
    const old = { id: 'old', amount: 40_000n }
    for (const how of ['refusalOf', 'reserve'] as const) {
      const { limits, ledger } = make({ maxPerDay: 50_000n }, {}, async () => ledger.settle(old.id, 'dead'))
      ledger.reserve(old, undefined)
      ledger.attach(old.id, { network: 'testnet', ...signed })
      if (how === 'refusalOf') expect(await limits.refusalOf(asking('30000'))).toBeUndefined()
      else await limits.reserve(asking('30000'))
      expect(ledger.spentBaseUnits).toBe(how === 'reserve' ? 30_000n : 0n)
    }
  })

  it('leaves nothing where more than it is spent', () => {
    const { limits, ledger } = make({ maxPerDay: 3n })
    ledger.reserve({ id: 'another client', amount: 5n }, undefined)
    expect(limits.remaining).toBe(0n)
    expect(limits.spent).toBe(5n)
  })

  it('leaves nothing until a distant ledger has told its sum, which is asked for once', async () => {
    const told = gate()
    let asked = 0
    const due = async () => {
      asked++
      await told.opened
      return []
    }
    const { limits } = make({ maxPerDay: 3n }, { due })
    for (let look = 0; look < 3; look++) expect(limits.remaining).toBe(0n)
    expect(asked).toBe(1)
    told.open()
    await expect.poll(() => limits.remaining).toBe(3n)
    expect(asked).toBe(1)
  })

  it('leaves nothing while the ledger is down, and asks it again', async () => {
    for (const due of [
      () => Promise.reject(new Error('down')),
      () => {
        throw new Error('down')
      },
    ]) {
      let answers: () => unknown = due
      const { limits } = make({ maxPerDay: 3n }, { due: () => answers() as never })
      expect(limits.remaining).toBe(0n)
      answers = () => []
      await expect.poll(() => limits.remaining).toBe(3n)
    }
  })

  it('that is none is never reached, and asks no chain', async () => {
    const { limits, settled } = make({})
    expect(await limits.refusalOf(asking('9007199254740993'))).toBeUndefined()
    await limits.reserve(asking('9007199254740993'))
    expect(limits.remaining).toBeUndefined()
    expect(settled()).toBe(0)
  })
})

describe('a reservation', () => {
  it('ends with the caller’s patience while the chain is asked', async () => {
    const never = gate()
    const { limits } = make({ maxPerDay: 1n }, {}, () => never.opened)
    const giveUp = new AbortController()
    const { signal } = giveUp
    const asked = [limits.reserve(asking('2'), { signal }), limits.refusalOf(asking('2'), { signal })]
    giveUp.abort()
    for (const each of asked) {
      await expect(each).rejects.toMatchObject({
        code: 'aborted',
        message: 'The call was aborted; nothing was paid',
      })
    }
  })

  it('that the ledger failed to answer for is released: it may have been counted', async () => {
    const down = new Error('the ledger is down')
    const { limits, ledger } = make(
      {},
      {
        reserve(spend, cap) {
          ledger.reserve(spend, cap)
          throw down
        },
      },
    )
    await expect(limits.reserve(asking('5'))).rejects.toBe(down)
    expect(ledger.spentBaseUnits).toBe(0n)
  })

  it('whose payment could not be attached is released, and the ledger’s error told', async () => {
    const down = new Error('the ledger is down')
    const { limits, ledger } = make({}, { attach: () => Promise.reject(down) })
    const reservation = await limits.reserve(asking('5'))
    await expect(reservation.attach(signed)).rejects.toBe(down)
    expect(ledger.spentBaseUnits).toBe(0n)
  })

  it('that is gone lets no payment leave', async () => {
    const { limits, ledger } = make({})
    const reservation = await limits.reserve(asking('5'))
    await reservation.release()
    await expect(reservation.attach(signed)).rejects.toMatchObject({ code: 'reservation_lost' })
    expect(ledger.spentBaseUnits).toBe(0n)
  })
})

describe('a ledger that is given', () => {
  it('has every move, or is refused by the names of those that it lacks', () => {
    const ledger = memorySpendLedger()
    expect(ledgerOption(ledger, 'ledger')).toBe(ledger)
    expect(ledgerOption(undefined, 'ledger')).toBeUndefined()
    const { reserve, attach, due, postpone } = ledger
    expect(() => ledgerOption({ reserve, attach, due, postpone } as SpendLedger, 'ledger')).toThrow(
      'ledger has no release, settle: see SpendLedger',
    )
  })
})
