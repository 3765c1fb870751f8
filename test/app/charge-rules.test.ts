/** What a seller may say about kept answers and about the agent's own address. */
import { describe, expect, it } from 'vitest'
import { ADVANCED_OPTIONS } from '../../src/app/server/options/advanced-options.js'
import { CHARGE_OPTIONS, rulesOf } from '../../src/app/server/options/charge-options.js'
import { readOptions } from '../../src/domain/option-checks.js'
import { createHandler, defineAgent, defineEndpoint, type HandlerOptions } from '../../src/index.js'
import { refusedWith } from '../domain/refusal.js'

const rules = (options: object) =>
  rulesOf({ ...readOptions(options, CHARGE_OPTIONS), ...readOptions({}, ADVANCED_OPTIONS) })
const refused = (options: object, text: RegExp) => refusedWith('invalid_options', () => rules(options), text)

describe('sealSecret', () => {
  const SECRET = 'a secret of thirty-two characters'

  it('is one or several, the first of which seals; none by default', () => {
    expect(rules({}).sealSecrets).toEqual([])
    expect(rules({ sealSecret: SECRET }).sealSecrets).toEqual([SECRET])
    expect(rules({ sealSecret: [`${SECRET}!`, SECRET] }).sealSecrets).toEqual([`${SECRET}!`, SECRET])
  })

  it.each([[SECRET.slice(0, 31)], [''], [7], [[SECRET, 'short']], [{}], [null]])(
    'is refused: %j',
    sealSecret => {
      let said: unknown
      try {
        rules({ sealSecret: sealSecret as never })
      } catch (error) {
        said = error
      }
      expect(said).toMatchObject({ code: 'invalid_options' })
      // What was given is a secret, also where it is too short.
      expect(String(said)).not.toContain(SECRET.slice(0, 31))
    },
  )
})

describe('keepAnswers', () => {
  it.each([
    [undefined, 120_000],
    ['2m', 120_000],
    ['1ms', 1],
    ['1h', 3_600_000],
    ['60m', 3_600_000],
    [false, 0],
  ])('%j keeps answers for %d ms', (keepAnswers, keepAnswersMs) => {
    expect(rules({ keepAnswers }).keepAnswersMs).toBe(keepAnswersMs)
  })

  it.each([
    '3600001ms',
    '61m',
    '2h',
    '1d',
    '0s',
    '-2m',
    '1.5m',
    '2 m',
    '2M',
    '2',
    '',
    'false',
    120_000,
    0,
    Number.NaN,
    true,
    {},
    ['2m'],
  ])('%j is refused', keepAnswers => {
    refused({ keepAnswers }, /^keepAnswers is a duration of at most an hour, such as '2m', or false, not /)
  })

  it('is apart from how long an answer is kept for a key', () => {
    const idempotency = { windowMs: 7 }
    expect(rules({ idempotency, keepAnswers: '1s' })).toMatchObject({ retentionMs: 7, keepAnswersMs: 1_000 })
    expect(rules({ idempotency, keepAnswers: false })).toMatchObject({ retentionMs: 7, keepAnswersMs: 0 })
  })
})

describe('publicUrl', () => {
  it.each([undefined, 'https://agent.example', 'http://127.0.0.1:8080', 'https://agent.example/api/'])(
    '%j is taken as it is',
    publicUrl => {
      expect(rules({ publicUrl }).publicUrl).toBe(publicUrl)
    },
  )

  it.each([
    '',
    'agent.example',
    'agent.example:8080',
    '/api',
    '//agent.example',
    'ftp://agent.example',
    'javascript:alert(1)',
    'https://',
    'https://agent.example\n',
    'https://a gent.example',
    'https://user:secret@agent.example',
    'https://agént.example',
    `https://agent.example/${'x'.repeat(2_048)}`,
    null,
    false,
    7,
    {},
    new URL('https://agent.example'),
  ])('%j is refused', publicUrl => {
    refused({ publicUrl }, /^publicUrl is the agent's http or https URL, not /)
  })
})

describe('an agent', () => {
  it.each<[string, object]>([
    ['keepAnswers', { keepAnswers: '2h' }],
    ['publicUrl', { publicUrl: 'agent.example' }],
  ])('does not begin with a wrong %s', (_, options) => {
    const agent = defineAgent({
      name: 'Ruled',
      handle: 'ruled',
      description: 'Works.',
      payTo: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAY5HFKQ',
      network: 'testnet',
      endpoints: [defineEndpoint({ name: 'work', price: '$0.01', handler: () => 'done' })],
    })
    refusedWith('invalid_options', () => createHandler(agent, options as HandlerOptions))
  })
})
