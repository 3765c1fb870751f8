import { describe, expect, it } from 'vitest'
import { priceOf } from '../../src/domain/price-of.js'

const entry = { scheme: 'exact', amount: '10000', asset: '31566704', payTo: 'A' }

describe('priceOf', () => {
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
    ['the readable one among others', [{ amount: 1 }, { ...entry, asset: '1' }, entry], 0.01],
    ['nothing to pay', { amount: '0' }, 0],
  ])('reads %s', (_, requirements, usd) => expect(priceOf(requirements)).toBe(usd))

  it.each([
    ['another asset', { ...entry, asset: '1' }],
    ['an amount that is a number', { amount: 10_000 }],
    ['a fraction of a base unit', { amount: '0.5' }],
    ['a negative amount', { amount: '-1' }],
    ['a price that is a number', { price: 0.02 }],
    ['a dynamic price', { price: 'dynamic' }],
    ['an empty array', []],
    ['an empty challenge', { accepts: [] }],
    ['an empty object', {}],
    ['a string', '$0.01'],
    ['null', null],
    ['nothing', undefined],
  ])('reads no price in %s', (_, requirements) => expect(priceOf(requirements)).toBeNull())
})
