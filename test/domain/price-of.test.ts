import { describe, expect, it } from 'vitest'
import { CAIP2, MAINNET, TESTNET } from '../../src/domain/network.js'
import { networkFacts } from '../../src/domain/network-definition.js'
import { priceOf } from '../../src/domain/price-for-display.js'
import { LOCALNET } from '../support/localnet.js'

const mainnet = CAIP2.mainnet
const entry = { scheme: 'exact', amount: '10000', asset: '31566704', payTo: 'A' }

describe('priceOf, as specification 4.8 has it,', () => {
  it.each([
    ['a challenge', { x402Version: 2, accepts: [entry] }, 0.01],
    ['an accepts array', [entry], 0.01],
    ['one entry', entry, 0.01],
    ['testnet USDC', { ...entry, asset: '10458941' }, 0.01],
    ['an asset id as a number', { ...entry, asset: 31566704 }, 0.01],
    ['an amount alone, taken for USDC', { amount: '2500000' }, 2.5],
    ['version 1’s maxAmountRequired', { maxAmountRequired: '1' }, 0.000001],
    ['a price in dollars', { price: '$0.02' }, 0.02],
    ['a manifest entry', { name: 'echo', price: '$5.00', pricing: 'fixed' }, 5],
    ['the readable one among others', [{ amount: 1.5 }, { ...entry, asset: '1' }, entry], 0.01],
    ['an amount that is a number', { amount: 10_000 }, 0.01],
    ['an entry whose amount is a number', { x402Version: 2, accepts: [{ ...entry, amount: 20_000 }] }, 0.02],
    ['a maxAmountRequired that is a number', { maxAmountRequired: 1 }, 0.000001],
    ['a price that is a number', { price: 0.02 }, 0.02],
    ['a price that is a sum of numbers', { price: 0.1 + 0.2 }, 0.3],
    ['nothing to pay', { amount: '0' }, 0],
    ['an amount that a price beside it contradicts', { ...entry, amount: '900000000', price: '$0.01' }, 900],
    ['the cheapest of several', { x402Version: 2, accepts: [{ ...entry, amount: '50000' }, entry] }, 0.01],
    [
      'one call before a window',
      [
        { ...entry, extra: { subscriptionPeriod: '1d' } },
        { ...entry, amount: '20000' },
      ],
      0.02,
    ],
    ['what can be paid before what cannot', [entry, { ...entry, scheme: 'upto', amount: '1' }], 0.01],
    ['an entry with its network', { ...entry, network: mainnet }, 0.01],
    ['an entry with its network’s other id', { ...entry, network: MAINNET.wholeHashId }, 0.01],
  ])('reads %s', (_, requirements, usd) => expect(priceOf(requirements)).toBe(usd))

  it.each([
    ['another asset', { ...entry, asset: '1' }],
    ['testnet’s USDC on mainnet', { ...entry, network: mainnet, asset: TESTNET.usdcId }],
    ['mainnet’s USDC on a private network', { ...entry, network: networkFacts(LOCALNET).caip2 }],
    ['an unknown network', { amount: '10000', network: 'base' }],
    ['an unreadable amount beside a price', { amount: 'much', price: '$0.01' }],
    ['an amount with a fraction', { amount: 0.5 }],
    ['an amount that no number holds exactly', { amount: 2 ** 53 }],
    ['an amount that is no number', { amount: Number.NaN }],
    ['a negative number', { amount: -1 }],
    ['a fraction of a base unit', { amount: '0.5' }],
    ['a negative amount', { amount: '-1' }],
    ['a price of nothing', { price: 0 }],
    ['a negative price', { price: -0.02 }],
    ['a price that is no number', { price: Number.NaN }],
    ['a price without end', { price: Number.POSITIVE_INFINITY }],
    ['a price beyond all money', { price: 1e21 }],
    ['a dynamic price', { price: 'dynamic' }],
    ['another scheme', { ...entry, scheme: 'upto' }],
    ['another scheme first', [{ ...entry, scheme: 'upto' }, entry]],
    ['a flow that takes the money first', { ...entry, extra: { paymentFlow: 'settlement' } }],
    ['a challenge of version 1', { x402Version: 1, accepts: [{ maxAmountRequired: '10000' }] }],
    ['an empty array', []],
    ['an empty challenge', { accepts: [] }],
    ['an empty object', {}],
    ['a string', '$0.01'],
    ['null', null],
    ['nothing', undefined],
  ])('reads no price in %s', (_, requirements) => expect(priceOf(requirements)).toBeNull())

  it('takes a number for the USDC of its reader’s network only there', () => {
    const { usdcId, caip2 } = networkFacts(LOCALNET)
    const read = (asset: string, network: string) => priceOf({ ...entry, asset, network }, LOCALNET)
    expect([read(usdcId, caip2), read(usdcId, mainnet), read(MAINNET.usdcId, caip2)]).toEqual([
      0.01,
      null,
      null,
    ])
  })
})
