import { describe, expect, it } from 'vitest'
import {
  ALGORAND_MAINNET,
  ALGORAND_TESTNET,
  CAIP2,
  GENESIS_HASH,
  isNetwork,
  networkIdsOf,
  networkOf,
  USDC_ASSET_ID,
} from '../../src/domain/network.js'

describe.each(['mainnet', 'testnet'] as const)('%s', network => {
  it('has a CAIP-2 id of 32 characters of its genesis hash, in URL-safe base64', () => {
    expect(CAIP2[network]).toBe(
      `algorand:${Buffer.from(GENESIS_HASH[network], 'base64').toString('base64url').slice(0, 32)}`,
    )
    expect(Buffer.from(GENESIS_HASH[network], 'base64')).toHaveLength(32)
  })

  it('is found by both forms of its id, and by no other', () => {
    expect(networkOf(CAIP2[network])).toBe(network)
    expect(networkOf(`algorand:${GENESIS_HASH[network]}`)).toBe(network)
    for (const id of [
      network,
      GENESIS_HASH[network],
      CAIP2[network].slice(0, -1),
      `${CAIP2[network]}x`,
      CAIP2[network].toUpperCase(),
      ` ${CAIP2[network]}`,
    ]) {
      expect(networkOf(id)).toBeUndefined()
    }
  })

  it('is offered under the id of CAIP-2 first', () => {
    expect(networkIdsOf(network, 'short')).toEqual([CAIP2[network]])
    expect(networkIdsOf(network, 'both')).toEqual([CAIP2[network], `algorand:${GENESIS_HASH[network]}`])
  })

  it('is a network', () => expect(isNetwork(network)).toBe(true))
})

it('constants are the specification’s', () => {
  expect(CAIP2).toEqual({ mainnet: ALGORAND_MAINNET, testnet: ALGORAND_TESTNET })
  expect(USDC_ASSET_ID).toEqual({ mainnet: 31566704, testnet: 10458941 })
})

it.each([
  [undefined],
  [null],
  [1],
  [{}],
  [['mainnet']],
  ['betanet'],
  ['constructor'],
  ['__proto__'],
  ['eip155:1'],
])('%o is no network and no id of one', value => {
  expect(networkOf(value)).toBeUndefined()
  expect(isNetwork(value)).toBe(false)
})
