/** What worthless payments cost the facilitator's node and the seller's servers, and who is stopped by them. */
import { decodeSignedTransaction, encodeMsgpack, SignedTransaction } from 'algosdk'
import { describe, expect, it } from 'vitest'
import { settlementOf, verificationOf } from '../../src/adapters/facilitator/verdict-of-response.js'
import type { PaymentPayload } from '../../src/domain/x402.js'
import { facilitatorApp } from '../../src/facilitator.js'
import { defineEndpoint } from '../../src/index.js'
import { fakeFacilitator, redirect } from '../support/fake-facilitator.js'
import { open, pay } from '../support/seller.js'
import { listening, paymentsOn, rig } from './rig.js'

type Rig = Awaited<ReturnType<typeof rig>>

const work = defineEndpoint({ name: 'work', price: '$0.01', handler: () => ({}) })
const listeningWith = ({ facilitator }: Rig, token: string) => facilitatorApp(facilitator, { token })

const TOKEN = 'a-token-of-our-servers'

/** What the node was asked by now, without the parameters that are asked once in some seconds. */
const questions = ({ node }: Rig) => node.asked.filter(step => step !== 'params')

/** Payments of more than the account has. */
function poorOf({ sandbox, sponsor }: Rig) {
  const pay = paymentsOn(sandbox, sponsor.address, sandbox.accounts('poor').mnemonic)
  return (amount = '999999999999') => pay({ amount })
}

describe('an expired payment', () => {
  async function expired() {
    const own = await rig()
    const { payload, requirements } = await own.pay()
    await own.facilitator.verify((await own.pay()).payload, requirements)
    own.sandbox.advanceRounds(1_000)
    own.pass(3_000)
    return { own, payload, requirements, before: questions(own).length }
  }

  it('costs the node one question, however often and by whomever it is verified', async () => {
    const { own, payload, requirements, before } = await expired()
    const verify = () => own.facilitator.verify(payload, requirements)
    const answers = await Promise.all(Array.from({ length: 20 }, verify))
    answers.push(await verify())
    for (const answer of answers) {
      expect(answer).toMatchObject({ isValid: false, invalidMessage: expect.stringContaining('txn dead') })
      expect(verificationOf({ status: 200, body: { ...answer } }).verdict).toBe('refused')
    }
    expect(questions(own).slice(before)).toEqual(['pending'])
  })

  it('costs one question to settle, and the answer decides nothing', async () => {
    const { own, payload, requirements, before } = await expired()
    const answer = await own.facilitator.settle(payload, requirements)
    expect(settlementOf({ status: 200, body: { ...answer } }).verdict).toBe('unknown')
    expect(questions(own).slice(before)).toEqual(['pending'])
  })

  it('that landed in time is told as landed', async () => {
    const own = await rig()
    const { payload, requirements } = await own.pay()
    await own.facilitator.settle(payload, requirements)
    own.sandbox.advanceRounds(200)
    own.pass(3_000)
    const answer = await own.make().verify(payload, requirements)
    expect(verificationOf({ status: 200, body: { ...answer } }).verdict).toBe('spent')
  })
})

it('of all who ask about one payment at a time, one asks the node', async () => {
  const own = await rig()
  const { payload, requirements } = await poorOf(own)()
  const verify = () => own.facilitator.verify(structuredClone(payload), requirements)
  const answers = await Promise.all(Array.from({ length: 20 }, verify))
  expect(new Set(answers.map(({ isValid }) => isValid))).toEqual(new Set([false]))
  expect(questions(own).sort()).toEqual(['pending', 'simulate'])
})

it('of all who ask for its condition at a time, one asks the node', async () => {
  const own = await rig()
  const found = await Promise.all(Array.from({ length: 20 }, () => own.facilitator.check()))
  expect(found.every(({ node }) => node === 'ok')).toBe(true)
  expect(questions(own)).toHaveLength(1)
})

describe('verifications that fail', () => {
  it('count against their payer: others go on, and the payer after a minute', async () => {
    const own = await rig()
    const { facilitator, pass } = own
    const poor = poorOf(own)
    for (let time = 0; time < 60; time++) {
      const { payload, requirements } = await poor()
      expect(await facilitator.verify(payload, requirements)).toMatchObject({ isValid: false })
    }
    const asked = questions(own).length
    const { payload, requirements } = await poor()
    await expect(facilitator.verify(payload, requirements)).rejects.toMatchObject({ code: 'rate_limited' })
    expect(questions(own).length).toBe(asked)
    const other = await own.pay()
    expect(await facilitator.verify(other.payload, other.requirements)).toMatchObject({ isValid: true })
    pass(60_000)
    const again = await poor('10000')
    expect(await facilitator.verify(again.payload, again.requirements)).toMatchObject({ isValid: true })
  })

  it('do not count where the payer did not sign: nobody can be stopped in its name', async () => {
    const own = await rig()
    for (let time = 0; time < 70; time++) {
      const { payload, requirements } = await own.pay()
      expect(await own.facilitator.verify(forged(payload), requirements)).toMatchObject({ isValid: false })
    }
    const { payload, requirements } = await own.pay()
    expect(await own.facilitator.verify(payload, requirements)).toMatchObject({ isValid: true })
  })

  it('do not count for what anybody can copy from the chain, or keeps of what the payer once signed', async () => {
    const own = await rig()
    const landed = await own.pay()
    const kept = await own.pay()
    await own.facilitator.settle(landed.payload, landed.requirements)
    const live = await own.pay({ amount: '999999999999' })
    const replay = async (times: number) => {
      for (let time = 0; time < times; time++)
        for (const { payload, requirements } of [landed, kept, live])
          for (const amount of [requirements.amount, '1'])
            await own.facilitator.verify(payload, { ...requirements, amount }).catch(() => {})
    }
    await replay(70)
    // The node does not know any more what has landed.
    own.sandbox.advanceRounds(2_000)
    own.pass(3_000)
    await replay(70)
    const { payload, requirements } = await own.pay()
    expect(await own.facilitator.verify(payload, requirements)).toMatchObject({ isValid: true })
  })

  it('do not count where the payment has landed', async () => {
    const own = await rig()
    const { payload, requirements } = await own.pay()
    await own.facilitator.settle(payload, requirements)
    for (let time = 0; time < 70; time++)
      expect(await own.facilitator.verify(payload, requirements)).toMatchObject({ isValid: false })
  })
})

function forged(payload: PaymentPayload) {
  const { paymentGroup, paymentIndex } = payload.payload as { paymentGroup: string[]; paymentIndex: number }
  const { txn } = decodeSignedTransaction(Buffer.from(paymentGroup[paymentIndex]!, 'base64'))
  const member = encodeMsgpack(new SignedTransaction({ txn, sig: new Uint8Array(64).fill(7) }))
  const group = paymentGroup.with(paymentIndex, Buffer.from(member).toString('base64'))
  return { ...payload, payload: { paymentGroup: group, paymentIndex } }
}

describe('a token', () => {
  it('lifts the limit by address from the servers that have it, and from nobody else', async () => {
    const own = await rig()
    const url = await listening(own.facilitator, { perMinute: 1, token: TOKEN })
    const { payload, requirements } = await own.pay()
    const body = JSON.stringify({ paymentPayload: payload, paymentRequirements: requirements })
    const ask = async (authorization?: string) =>
      (
        await fetch(`${url}/verify`, {
          method: 'POST',
          body,
          ...(authorization !== undefined && { headers: { authorization } }),
        })
      ).status
    const strangers = [undefined, `Bearer ${TOKEN}x`, 'Bearer', `Bearer ${TOKEN.slice(1)}`]
    expect(await ask()).toBe(200)
    for (const authorization of strangers) expect(await ask(authorization)).toBe(429)
    for (let time = 0; time < 5; time++) expect(await ask(`Bearer ${TOKEN}`)).toBe(200)
  })

  it('is sent by a server to its own facilitator: strangers there use up nothing of the server’s', async () => {
    const own = await rig()
    const url = await listening(own.facilitator, { perMinute: 1, token: TOKEN })
    const stranger = await fetch(`${url}/verify`, { method: 'POST', body: '{}' })
    expect(stranger.status).toBe(400)
    const seller = await open([work], { sandbox: own.sandbox, facilitatorUrl: { url, token: TOKEN } })
    for (let time = 0; time < 3; time++)
      expect((await pay(seller, `${seller.url}/work`, { body: {} })).status).toBe(200)
  })

  it('is sent to no other facilitator of the list, and not across a redirect', async () => {
    const own = await rig()
    const elsewhere = await fakeFacilitator()
    const first = await fakeFacilitator({ '/verify': redirect(`${elsewhere.url}/verify`) })
    const seller = await open([work], {
      sandbox: own.sandbox,
      facilitatorUrl: [{ url: first.url, token: TOKEN }, elsewhere.url],
    })
    await pay(seller, `${seller.url}/work`, { body: {} })
    first.replies['/supported'] = redirect(`${elsewhere.url}/supported`)
    await pay(seller, `${seller.url}/work`, { body: {} })
    const seen = (fake: typeof first) => fake.asked.map(({ path, authorization }) => [path, authorization])
    expect(seen(first)).toContainEqual(['/verify', `Bearer ${TOKEN}`])
    expect(seen(first)).not.toContainEqual(['/supported', `Bearer ${TOKEN}`])
    expect(JSON.stringify(seen(elsewhere))).not.toContain(TOKEN)
  })

  it('is refused at start over plain http to a public host, whatever allowHttp says, and where it is weak', async () => {
    const own = await rig()
    const start = (facilitatorUrl: { url: string; token: string }, allowHttp = true) =>
      open([work], { sandbox: own.sandbox, facilitatorUrl, advanced: { allowHttp } })
    await expect(start({ url: 'http://facilitator.example.com', token: TOKEN })).rejects.toMatchObject({
      code: 'invalid_facilitator',
      message: expect.not.stringContaining(TOKEN),
    })
    for (const token of ['short', `${TOKEN}\r\nx: y`, `${TOKEN} with spaces`]) {
      const refused = { code: 'invalid_options', message: expect.not.stringContaining(token) }
      await expect(start({ url: own.sandbox.facilitatorUrl, token })).rejects.toMatchObject(refused)
      expect(() => listeningWith(own, token)).toThrow(expect.objectContaining(refused))
    }
  })

  it('is in no log, no health and no metrics', async () => {
    const own = await rig()
    const lines: unknown[] = []
    const say = (...line: unknown[]) => void lines.push(line)
    const logger = { debug: say, info: say, warn: say, error: say }
    const url = await listening(own.facilitator, { token: TOKEN, logger })
    const seller = await open([work], {
      sandbox: own.sandbox,
      facilitatorUrl: { url, token: TOKEN },
      logger,
    })
    await pay(seller, `${seller.url}/work`, { body: {} })
    own.node.set('params', 'die')
    own.pass(3_000)
    await pay(seller, `${seller.url}/work`, { body: {} })
    const shown = await Promise.all(
      [`${seller.url}/health`, `${seller.url}/metrics`, `${url}/health`, `${url}/metrics`].map(async each =>
        (await fetch(each)).text(),
      ),
    )
    expect(
      JSON.stringify(lines, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
    ).not.toContain(TOKEN)
    expect(lines.length).toBeGreaterThan(0)
    expect(shown.join()).not.toContain(TOKEN)
  })
})
