import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SvcError } from '../../src/domain/errors.js'
import {
  ALGORAND_MAINNET,
  ALGORAND_TESTNET,
  CAIP2,
  isIdOf,
  isNetworkKey,
  isPublicNetwork,
  MAINNET,
  type NetworkDefinition,
  networkIdsOf,
  networkOf,
  PUBLIC_NETWORKS,
  publicNetworkOf,
  TESTNET,
  USDC_ASSET_ID,
} from '../../src/domain/network.js'
import { networkFacts } from '../../src/domain/network-definition.js'
import { LOCALNET } from '../support/localnet.js'

describe.each(['mainnet', 'testnet'] as const)('%s', name => {
  const network = PUBLIC_NETWORKS[name]
  const hash = Buffer.from(network.genesisHash, 'base64')

  it('has a CAIP-2 id of 32 characters of its genesis hash, in URL-safe base64', () => {
    expect(network.caip2).toBe(`algorand:${hash.toString('base64url').slice(0, 32)}`)
    expect(network.caip2).toBe(CAIP2[name])
    expect(hash).toHaveLength(32)
    expect(Buffer.from(network.genesisHashBytes)).toEqual(hash)
  })

  it('is found by both forms of its id, and by no other', () => {
    for (const id of [network.caip2, network.wholeHashId]) {
      expect(networkOf(id, undefined)).toBe(network)
      expect(publicNetworkOf(id)).toBe(name)
      expect(isIdOf(network, id)).toBe(true)
    }
    for (const id of [
      name,
      network.genesisHash,
      network.caip2.slice(0, -1),
      `${network.caip2}x`,
      network.caip2.toUpperCase(),
      ` ${network.caip2}`,
      `${network.wholeHashId.slice(0, -2)}A=`,
    ]) {
      expect(networkOf(id, undefined)).toBeUndefined()
      expect(publicNetworkOf(id)).toBeUndefined()
      expect(isIdOf(network, id)).toBe(false)
    }
  })

  it('is offered under the id of CAIP-2 first', () => {
    expect(networkIdsOf(network, 'short')).toEqual([network.caip2])
    expect(networkIdsOf(network, 'both')).toEqual([network.caip2, `algorand:${network.genesisHash}`])
  })

  it('is read by its name, and from a definition that is it', () => {
    expect(networkFacts(name)).toBe(network)
    const { genesisId, genesisHash, usdc } = network
    const defined = networkFacts({ name, genesisId, genesisHash, usdc, algodUrl: 'http://mine:4001' })
    expect(defined).toMatchObject({ key: name, caip2: network.caip2, algodUrl: 'http://mine:4001' })
    // A definition brings its own addresses: no stranger's node is asked because it is left out.
    expect(networkFacts({ name, genesisId, genesisHash, usdc }).algodUrl).toBeUndefined()
  })

  it.each([
    ['another USDC', { usdc: network.usdc + 1 }],
    ['the other network’s USDC', { usdc: name === 'mainnet' ? TESTNET.usdc : MAINNET.usdc }],
    ['another genesisId', { genesisId: 'dockernet-v1' }],
    ['another name', { name: 'localnet' }],
    ['the name in capitals', { name: name.toUpperCase() }],
  ])('is refused from a definition of %s', (_, changes) => {
    const { genesisId, genesisHash, usdc } = network
    expect(refusalOf({ name, genesisId, genesisHash, usdc, ...changes })).toContain(`hash is ${name}'s`)
  })
})

it('constants are the specification’s', () => {
  expect(CAIP2).toEqual({ mainnet: ALGORAND_MAINNET, testnet: ALGORAND_TESTNET })
  expect(USDC_ASSET_ID).toEqual({ mainnet: 31566704, testnet: 10458941 })
})

it.each([
  [undefined],
  [null],
  [1],
  [[]],
  [['mainnet']],
  ['betanet'],
  ['constructor'],
  ['__proto__'],
  ['eip155:1'],
  [{}],
])('%o is no network and no id of one', value => {
  expect(publicNetworkOf(value)).toBeUndefined()
  expect(isPublicNetwork(value)).toBe(false)
  expect(isNetworkKey(value)).toBe(false)
  expect(refusalOf(value)).toBeDefined()
})

/** Why it is refused; a failure where it is not. */
function refusalOf(value: unknown): string {
  try {
    networkFacts(value)
  } catch (error) {
    expect(error).toBeInstanceOf(SvcError)
    expect(error).toMatchObject({ code: 'invalid_network' })
    return (error as Error).message
  }
  throw new Error(`${JSON.stringify(value)} was read`)
}

describe('a definition', () => {
  it('is read into a value of its own', () => {
    const given = { ...LOCALNET }
    const facts = networkFacts(given)
    expect(facts).toMatchObject(LOCALNET)
    expect(facts.key).toBe(facts.caip2)
    expect(facts.given).toEqual(given)
    given.usdc = MAINNET.usdc
    expect(facts.usdc).toBe(LOCALNET.usdc)
    expect(networkFacts(facts.given)).toBe(facts)
    expect(Object.isFrozen(facts.given)).toBe(true)
  })

  it('is known by both forms of its id, beside the public networks', () => {
    const own = networkFacts(LOCALNET)
    for (const id of networkIdsOf(own, 'both')) {
      expect(networkOf(id, own)).toBe(own)
      expect(networkOf(id, undefined)).toBeUndefined()
    }
    expect(networkOf(ALGORAND_MAINNET, own)).toBe(MAINNET)
  })

  it('is the same network as another of the same genesis hash', () => {
    const other = networkFacts({ ...LOCALNET, name: 'mine', algodUrl: 'http://other:4001' })
    expect(other.key).toBe(networkFacts(LOCALNET).key)
    expect(isIdOf(other, networkFacts(LOCALNET).wholeHashId)).toBe(true)
  })

  const { genesisHash } = LOCALNET
  it.each<[string, Record<string, unknown>]>([
    ['no name', { name: undefined }],
    ['an empty name', { name: '' }],
    ['a name that would break a line of a log', { name: 'local\nnet' }],
    ['a name of 65 characters', { name: 'n'.repeat(65) }],
    ['no genesisId', { genesisId: undefined }],
    ['a genesisId that is no ASCII', { genesisId: 'dockernet–v1' }],
    ['a genesisId of 129 characters', { genesisId: 'n'.repeat(129) }],
    ['no hash', { genesisHash: undefined }],
    ['a hash of 31 bytes', { genesisHash: Buffer.alloc(31, 1).toString('base64') }],
    ['a hash of 33 bytes', { genesisHash: Buffer.alloc(33, 1).toString('base64') }],
    ['a hash without padding', { genesisHash: genesisHash.slice(0, -1) }],
    ['a URL-safe hash', { genesisHash: genesisHash.replaceAll('/', '_').replaceAll('+', '-') }],
    ['a hash with bits to spare', { genesisHash: `${genesisHash.slice(0, -2)}B=` }],
    ['a hash in hex', { genesisHash: Buffer.from(genesisHash, 'base64').toString('hex') }],
    ['a hash in bytes', { genesisHash: Buffer.from(genesisHash, 'base64') }],
    ['no USDC', { usdc: undefined }],
    ['USDC in text', { usdc: '1002' }],
    ['USDC of 0, which is ALGO', { usdc: 0 }],
    ['half a USDC', { usdc: 1.5 }],
    ['USDC beyond what a number holds', { usdc: 2 ** 53 }],
    ['an algodUrl that is none', { algodUrl: 'localhost:4001' }],
    ['an algodUrl with a password', { algodUrl: 'http://me:secret@localhost:4001' }],
    ['an indexerUrl of another protocol', { indexerUrl: 'file:///etc/passwd' }],
    ['a list of facilitators', { facilitatorUrl: ['http://localhost:4020'] }],
    ['a token that would break a header', { algodToken: 'a\r\nb' }],
    ['a token that is no text', { algodToken: 1 }],
    ['a misspelt field', { algodURL: 'http://localhost:4001' }],
    ['an id that is mainnet’s', { genesisHash: `${MAINNET.genesisHash.slice(0, 40)}AAA=` }],
    ['the name of mainnet', { name: 'mainnet' }],
    ['a name with mainnet in it', { name: 'my-MainNet.fork' }],
    ['the name of testnet', { name: 'Test-Net' }],
    ['the genesisId of mainnet', { genesisId: 'mainnet-v1.0' }],
    ['the genesisId of testnet', { genesisId: 'testnet-v1.0' }],
  ])('with %s is refused, and what is secret is not repeated', (_, changes) => {
    expect(refusalOf({ ...LOCALNET, ...changes })).not.toMatch(/secret|\r/)
  })

  it.each([
    ['testnet-copy', 'private-v1'],
    ['sandnet', 'sandnet-v1'],
    ['voi', 'voimain-v1.0'],
  ])('may be called %s', (name, genesisId) => {
    expect(networkFacts({ ...LOCALNET, name, genesisId })).toMatchObject({ name, genesisId })
  })
})

describe('for any definition', () => {
  const anyHash = fc
    .oneof(
      fc.uint8Array({ minLength: 32, maxLength: 32 }),
      fc.constantFrom(MAINNET.genesisHashBytes, TESTNET.genesisHashBytes),
    )
    .map(bytes => Buffer.from(bytes).toString('base64'))
  const anyDefinition: fc.Arbitrary<NetworkDefinition> = fc.record({
    name: fc.oneof(
      fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/),
      fc.constantFrom('mainnet', 'testnet'),
    ),
    genesisId: fc.oneof(
      fc.stringMatching(/^[\x21-\x7e]{1,128}$/),
      fc.constantFrom('mainnet-v1.0', 'testnet-v1.0'),
    ),
    genesisHash: anyHash,
    usdc: fc.oneof(fc.integer({ min: 1 }), fc.constantFrom(MAINNET.usdc, TESTNET.usdc)),
  })

  it('the ids are of its genesis hash, and it is a public network only as a whole', () => {
    let read = 0
    fc.assert(
      fc.property(anyDefinition, definition => {
        let facts: ReturnType<typeof networkFacts>
        try {
          facts = networkFacts(definition)
        } catch (error) {
          expect(error).toMatchObject({ code: 'invalid_network' })
          return
        }
        read++
        const bytes = Buffer.from(definition.genesisHash, 'base64')
        expect(facts.caip2).toBe(`algorand:${bytes.toString('base64url').slice(0, 32)}`)
        expect(facts.wholeHashId).toBe(`algorand:${definition.genesisHash}`)
        expect(facts.usdcId).toBe(String(definition.usdc))
        expect(isNetworkKey(facts.key)).toBe(true)
        for (const real of [MAINNET, TESTNET]) {
          const shared = (['name', 'genesisId', 'genesisHash'] as const).filter(
            field => definition[field] === real[field],
          )
          expect([0, 3]).toContain(shared.length)
          expect(facts.key === real.key).toBe(shared.length === 3)
          if (shared.length === 3) expect(definition.usdc).toBe(real.usdc)
        }
      }),
      { numRuns: 1_000 },
    )
    expect(read).toBeGreaterThan(100)
  })

  it('nothing else throws, whatever is given', () => {
    const fields = Object.keys({
      ...LOCALNET,
      algodUrl: '',
      algodToken: '',
      indexerUrl: '',
      facilitatorUrl: '',
    })
    const broken = fc
      .tuple(fc.constantFrom(...fields), fc.anything())
      .map(([field, value]) => ({ ...LOCALNET, [field]: value }))
    const anyGiven = fc.oneof(fc.anything(), broken)
    fc.assert(
      fc.property(anyGiven, value => {
        try {
          networkFacts(value)
        } catch (error) {
          expect(error).toBeInstanceOf(SvcError)
        }
      }),
    )
  })
})
