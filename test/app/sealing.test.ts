/** What a store learns of keys and answers: names that cannot be turned back, and bytes that open for the caller's key alone. */
import { createDecipheriv, hkdfSync } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ReplayedAnswer } from '../../src/app/charge/call-at-work.js'
import type { ChargeDeps } from '../../src/app/charge/charge-deps.js'
import { claimName, endpointOwner, ownerOf, sealsOf, windowId } from '../../src/app/charge/names-in-stores.js'
import { retentionMs, seal, unseal } from '../../src/app/charge/seal-answers.js'
import { newKey, windowsNow } from '../../src/app/charge/subscription-windows.js'
import { MAINNET, type NetworkFacts, TESTNET } from '../../src/domain/network.js'
import { systemRandom } from '../../src/ports/random.js'
import { OWNER } from '../support/one-call.js'

const KEY = 'a key of more than sixteen characters'
const KEPT: ReplayedAnswer = {
  answer: {
    status: 201,
    headers: { 'content-type': 'text/plain' },
    cookies: ['one=1', 'two=2'],
    body: 'a body with an ü',
  },
  txId: 'TX',
  payer: 'PAYER',
  amount: '10000',
  asset: '10458941',
  window: { key: 'svc_secret', expiresAtMs: 1_000 },
}
const sealed = seal(KEPT, KEY, 'claim', systemRandom)

describe('a kept answer', () => {
  it('is the answer again under the key and the name that it was kept with', () => {
    const { answer, ...rest } = unseal(sealed, [KEY], 'claim')!
    expect({ ...rest, answer: { ...answer, body: String(answer!.body) } }).toEqual(KEPT)
  })

  it('is encrypted under the key that HKDF (RFC 5869) derives from the key, with the name of the claim as salt', () => {
    const texts = fc.string({ unit: 'grapheme', maxLength: 200 })
    fc.assert(
      fc.property(texts, fc.string({ minLength: 1, maxLength: 200 }), texts, (claim, secret, body) => {
        const kept = { ...KEPT, answer: { ...KEPT.answer!, body } }
        const bytes = seal(kept, secret, claim, systemRandom)
        const derived = Buffer.from(hkdfSync('sha256', secret, claim, 'svc stored answer', 32))
        const decipher = createDecipheriv('aes-256-gcm', derived, bytes.subarray(0, 12))
        decipher.setAuthTag(bytes.subarray(12, 28))
        const plain = Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()])
        const headEnd = 4 + plain.readUInt32BE(0)
        expect(plain.toString('utf8', headEnd)).toBe(Buffer.from(body).toString('utf8'))
        expect(JSON.parse(plain.toString('utf8', 4, headEnd))).toMatchObject({ status: 201, txId: 'TX' })
      }),
      {
        examples: [
          ['c'.repeat(64), 's'.repeat(64), ''],
          ['c'.repeat(65), 's'.repeat(65), '\ud800'],
          ['', 's', 'ü'],
        ],
      },
    )
  })

  it('has an IV that no other has, also where its pool of randomness is used up', () => {
    const ivs = Array.from({ length: 1_000 }, () => seal(KEPT, KEY, 'claim', systemRandom).subarray(0, 12))
    expect(new Set(ivs.map(iv => Buffer.from(iv).toString('hex'))).size).toBe(1_000)
    const first = systemRandom.iv()
    const before = Buffer.from(first).toString('hex')
    for (let count = 0; count < 300; count++) expect(systemRandom.iv()).toHaveLength(12)
    expect(Buffer.from(first).toString('hex')).toBe(before)
  })

  it('keeps bytes as bytes, no bytes at all, and what is known of an answer that was too large', () => {
    const body = new Uint8Array([0, 255, 10, 128])
    for (const kept of [body, new Uint8Array()]) {
      const again = unseal(
        seal({ ...KEPT, answer: { ...KEPT.answer!, body: kept } }, KEY, 'claim', systemRandom),
        [KEY],
        'claim',
      )!
      expect(new Uint8Array(again.answer!.body as Uint8Array)).toEqual(kept)
    }
    const large = { ...KEPT, answer: undefined }
    expect(unseal(seal(large, KEY, 'claim', systemRandom), [KEY], 'claim')).toEqual(large)
  })

  it.each<[string, Uint8Array, string, string]>([
    ['another key', sealed, `${KEY}.`, 'claim'],
    ['the name of another claim', sealed, KEY, 'other'],
    ...[0, 12, 28, 32, sealed.length - 1].map((at): [string, Uint8Array, string, string] => [
      `a changed byte at ${at}`,
      sealed.map((byte, place) => (place === at ? byte ^ 1 : byte)),
      KEY,
      'claim',
    ]),
    ['its last byte missing', sealed.subarray(0, -1), KEY, 'claim'],
  ])('does not open with %s', (_, bytes, key, claim) => {
    expect(unseal(bytes, [key], claim)).toBeUndefined()
  })

  it('opens under any of several secrets', () => {
    expect(unseal(sealed, ['another', KEY], 'claim')).toMatchObject({ txId: 'TX' })
    expect(unseal(sealed, ['another', `${KEY}.`], 'claim')).toBeUndefined()
  })

  it('shows nothing of itself, and looks another way each time', () => {
    const text = Buffer.from(sealed).toString('latin1')
    for (const word of ['a body', 'PAYER', 'svc_secret', 'content-type', KEY])
      expect(text).not.toContain(word)
    const again = seal(KEPT, KEY, 'claim', systemRandom)
    expect(Buffer.from(again).subarray(28).equals(Buffer.from(sealed).subarray(28))).toBe(false)
  })
})

describe('the name of a claim', () => {
  it('is of the owner, of who asks and of the key, and shows none of them', () => {
    const parts = [OWNER, ['payer', 'PAYER'], KEY] as const
    const name = claimName(...parts)
    expect(name).toMatch(/^[\w-]{43}$/)
    expect(claimName(`${OWNER}.`, parts[1], KEY)).not.toBe(name)
    expect(claimName(OWNER, ['payer', 'OTHER'], KEY)).not.toBe(name)
    expect(claimName(OWNER, parts[1], `${KEY}.`)).not.toBe(name)
    // What ends one part does not begin the next.
    expect(claimName('A', ['BC'], '')).not.toBe(claimName('AB', ['C'], ''))
    expect(claimName('A', ['B', 'C'], '')).not.toBe(claimName('A', ['B'], 'C'))
  })

  it('is of one agent of one seller on one network, and of one endpoint', () => {
    const owner = (network: NetworkFacts, payTo: string, handle: string, endpoint: string) =>
      endpointOwner(ownerOf(network, payTo, handle), endpoint)
    const one = owner(TESTNET, 'S', 'weather', 'ask')
    expect(owner(TESTNET, 'S', 'weather', 'ask')).toBe(one)
    for (const other of [
      owner(MAINNET, 'S', 'weather', 'ask'),
      owner(TESTNET, 'T', 'weather', 'ask'),
      owner(TESTNET, 'S', 'legal', 'ask'),
      owner(TESTNET, 'S', 'weather', 'tell'),
    ])
      expect(other).not.toBe(one)
  })
})

describe('the key of a window', () => {
  it('has 32 random bytes, and is stored by a name of its seller that does not show it', () => {
    const asked: number[] = []
    const random = {
      bytes: (count: number) => {
        asked.push(count)
        return new Uint8Array(count).fill(251)
      },
    }
    const key = newKey({ random } as unknown as ChargeDeps)
    expect(asked).toEqual([32])
    expect(key).toBe(`svc_${Buffer.alloc(32, 251).toString('base64url')}`)
    expect(windowId(OWNER, key)).toMatch(/^[\w-]{43}$/)
    expect(windowId('ANOTHER', key)).not.toBe(windowId(OWNER, key))
    expect(windowId(OWNER, `${key}.`)).not.toBe(windowId(OWNER, key))
  })

  it('is counted by the time of the store, where it has one', async () => {
    const clock = { now: () => 5 } as ChargeDeps['clock']
    const at = (now?: () => number | Promise<number>) =>
      windowsNow({ clock, subscriptions: { ...(now && { now }) } as ChargeDeps['subscriptions'] })
    expect(await at(async () => 7)).toBe(7)
    expect(at(() => 0)).toBe(0)
    expect(at()).toBe(5)
  })
})

describe('what the seller adds to what the caller brings', () => {
  const deps = (sealSecrets: readonly string[]) => ({ rules: { sealSecrets } }) as unknown as ChargeDeps

  it('is each of its secrets in turn, and nothing at last: answers of before are opened too', () => {
    expect(sealsOf(deps([]), 'brought')).toEqual(['brought'])
    const seals = sealsOf(deps(['new', 'old']), 'brought')
    expect(seals).toHaveLength(3)
    expect(seals).toEqual([
      ...sealsOf(deps(['new']), 'brought').slice(0, 1),
      ...sealsOf(deps(['old']), 'brought'),
    ])
    expect(new Set([...seals, ...sealsOf(deps(['new', 'old']), 'other')]).size).toBe(6)
    const bytes = seal(KEPT, seals[0]!, 'claim', systemRandom)
    expect(unseal(bytes, sealsOf(deps(['newest', 'new']), 'brought'), 'claim')).toMatchObject({ txId: 'TX' })
    for (const others of [sealsOf(deps(['new']), 'other'), sealsOf(deps(['old']), 'brought')])
      expect(unseal(bytes, others, 'claim')).toBeUndefined()
  })
})

describe('an answer that sold a window', () => {
  const clock = { now: () => 1_000 } as ChargeDeps['clock']
  const keptFor = (sealSecrets: readonly string[], endsAfterMs: number | undefined, key?: string) => {
    const rules = { sealSecrets, keepAnswersMs: 300, retentionMs: 500 } as unknown as ChargeDeps['rules']
    const window = endsAfterMs === undefined ? undefined : { key: 'svc', expiresAtMs: 1_000 + endsAfterMs }
    return retentionMs({ rules, clock }, key, window)
  }

  it('is kept until the window ends, under the seller’s own seal alone', () => {
    expect(keptFor(['secret'], 9_000)).toBe(9_000)
    expect(keptFor(['secret'], 9_000, KEY)).toBe(9_000)
    expect(keptFor([], 9_000)).toBe(300)
    expect(keptFor([], 9_000, KEY)).toBe(500)
  })

  it('is kept no shorter than any other', () => {
    expect(keptFor(['secret'], 200)).toBe(300)
    expect(keptFor(['secret'], 400, KEY)).toBe(500)
    expect(keptFor(['secret'], undefined)).toBe(300)
    expect(keptFor(['secret'], undefined, KEY)).toBe(500)
  })
})
