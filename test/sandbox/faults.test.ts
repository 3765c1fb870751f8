import { request } from 'undici'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { algodClient } from '../../src/adapters/algorand/algod-and-indexer.js'
import { algorandPaymentSigner } from '../../src/adapters/algorand/sign-payment-group.js'
import { signingKey } from '../../src/adapters/algorand/signing-keys.js'
import { ALGORAND_MAINNET, TESTNET } from '../../src/domain/network.js'
import { type FaultName, type Sandbox, type Stage, startSandbox } from '../../src/sandbox.js'
import { type Answer, answerOf } from '../support/answers.js'
import { sendRaw } from '../support/raw-http.js'
import { payerOf } from '../support/sandbox-payment.js'

let sandbox: Sandbox
let pay: ReturnType<typeof payerOf>
let close: () => Promise<void>

beforeAll(async () => {
  sandbox = await startSandbox()
  const algod = algodClient({ url: sandbox.algodUrl, nodeTimeoutMs: 20_000 })
  close = () => algod.close()
  const key = signingKey(sandbox.wallet.mnemonic)
  pay = payerOf(sandbox, algorandPaymentSigner({ key, network: TESTNET, algod }))
})
afterAll(async () => {
  await close()
  await sandbox.close()
})
beforeEach(() => sandbox.faults.clear())

const stages: Stage[] = ['supported', 'verify', 'settle']

describe('each stage can', () => {
  for (const stage of stages) {
    it(`${stage}: hang`, async () => {
      sandbox.faults.set(stage, 'hang')
      await expect(ask(stage, undefined, 50)).rejects.toThrow()
    })

    it.each<FaultName>(['reset', 'truncated'])(`${stage}: be cut by %s`, async fault => {
      sandbox.faults.set(stage, fault)
      await expect(ask(stage)).rejects.toThrow()
    })

    it.each<[FaultName, number, RegExp]>([
      ['500', 500, /json/],
      ['429', 429, /json/],
      ['html', 200, /html/],
      ['redirect', 307, /json/],
    ])(`${stage}: answer %s`, async (fault, status, type) => {
      sandbox.faults.set(stage, fault)
      const answer = await ask(stage)
      expect(answer.status).toBe(status)
      expect(answer.headers['content-type']).toMatch(type)
    })

    it(`${stage}: never stop talking`, async () => {
      sandbox.faults.set(stage, 'huge')
      const { body } = await request(urlOf(stage), {
        method: stage === 'supported' ? 'GET' : 'POST',
        body: await bodyOf(stage),
      })
      let length = 0
      for await (const chunk of body) {
        length += chunk.length
        if (length > 3_000_000) break
      }
      expect(length).toBeGreaterThan(3_000_000)
    })
  }
})

describe('/supported can', () => {
  it('list nothing, another sponsor, another network', async () => {
    sandbox.faults.set('supported', 'refuse')
    expect((await ask('supported')).json.kinds).toEqual([])
    sandbox.faults.set('supported', 'other-payer')
    const { kinds } = (await ask('supported')).json
    expect(kinds[0]!.extra.feePayer).not.toBe(sandbox.feePayer)
    sandbox.faults.set('supported', 'other-network')
    expect((await ask('supported')).json.kinds).toMatchObject([{ network: ALGORAND_MAINNET }])
  })
})

describe('/verify can', () => {
  it.each<[FaultName, object]>([
    ['refuse', { isValid: false, invalidReason: 'refused_by_sandbox_fault' }],
    ['string-true', { isValid: 'true' }],
    ['one', { isValid: 1 }],
    ['other-payer', { isValid: true, payer: expect.not.stringMatching('^$') }],
  ])('%s', async (fault, answer) => {
    sandbox.faults.set('verify', fault)
    const { json } = await ask('verify')
    expect(json).toMatchObject(answer)
    if (fault === 'other-payer') expect(json.payer).not.toBe(sandbox.wallet.address)
  })

  it('lie about a payment that the ledger would refuse', async () => {
    sandbox.faults.set('verify', 'lie')
    const { body } = await pay({ amount: '999999999999' })
    expect((await ask('verify', body)).json).toEqual({ isValid: true, payer: sandbox.wallet.address })
  })
})

describe('/settle can', () => {
  it.each<[FaultName, boolean, object]>([
    ['refuse', false, { success: false, errorReason: 'insufficient_funds', transaction: '' }],
    ['lie', false, { success: true }],
    ['pending', false, { success: false, errorReason: 'settlement_pending' }],
    ['string-true', true, { success: 'true' }],
    ['one', true, { success: 1 }],
    ['other-tx', true, { success: true, transaction: 'A'.repeat(52) }],
    ['other-network', true, { success: true, network: ALGORAND_MAINNET }],
    ['other-payer', true, { success: true }],
  ])('%s (settled: %s)', async (fault, settles, answer) => {
    sandbox.faults.set('settle', fault)
    const { body, txId } = await pay()
    const { json } = await ask('settle', body)
    expect(json).toMatchObject(answer)
    if (fault === 'lie' || fault === 'pending') expect(json.transaction).toBe(txId)
    if (fault === 'other-payer') expect(json.payer).not.toBe(sandbox.wallet.address)
    expect(hasLanded(txId)).toBe(settles)
    sandbox.faults.clear()
    expect((await ask('settle', body)).json.success).toBe(!settles)
  })

  it.each<[FaultName, boolean]>([
    ['die-before', false],
    ['die-after', true],
    ['reset', false],
    ['500', false],
    ['truncated', false],
  ])('%s (settled: %s)', async (fault, settles) => {
    sandbox.faults.set('settle', fault)
    const { body, txId } = await pay()
    await ask('settle', body).catch(() => {})
    expect(hasLanded(txId)).toBe(settles)
  })

  it('be late: cut first, settled a while after', async () => {
    sandbox.faults.set('settle', 'late', { delayMs: 2_000 })
    const { body, txId } = await pay()
    await expect(ask('settle', body)).rejects.toThrow()
    expect(hasLanded(txId)).toBe(false)
    await expect.poll(() => hasLanded(txId)).toBe(true)
  })
})

describe('a fault', () => {
  it('ends after the times it was set for', async () => {
    sandbox.faults.set('verify', '500', { times: 2 })
    const statuses: number[] = []
    for (let count = 0; count < 3; count++) statuses.push((await ask('verify')).status)
    expect(statuses).toEqual([500, 500, 200])
    expect(sandbox.faults.list()).toEqual([])
  })

  it('is set by option, several at once', async () => {
    const broken = await startSandbox({ fault: 'settle=hang, verify=500:2' })
    expect(broken.faults.list()).toMatchObject([
      { stage: 'settle', behaviour: 'hang', times: null },
      { stage: 'verify', behaviour: '500', times: 2 },
    ])
    await broken.close()
  })

  it.each([
    ...['settle', 'settle=', 'settle=nap', 'verify=late'].map(fault => [fault, /^At .* a fault is one of/]),
    ...['pay=hang', ','].map(fault => [fault, /^A fault's stage is one of/]),
    ...['settle=hang:0', 'settle=hang:-1', 'settle=hang:1e3'].map(fault => [fault, /^times is a whole/]),
  ] as [string, RegExp][])('set by %j is refused, and told what is wrong', async (fault, message) => {
    const refusal = { code: 'invalid_fault', message: expect.stringMatching(message) }
    await expect(startSandbox({ fault })).rejects.toMatchObject(refusal)
  })

  it('is set, shown and cleared from outside', async () => {
    const control = async (method: string, body?: object, query = '') => {
      const answer = await fetch(`${sandbox.url}/sandbox/faults${query}`, {
        method,
        body: body && JSON.stringify(body),
      })
      return (await answerOf(answer)).faults
    }
    expect(await control('PUT', { stage: 'settle', behaviour: 'hang' })).toHaveLength(1)
    expect(await control('PUT', { stage: 'verify', behaviour: 'one', times: 3 })).toHaveLength(2)
    expect(await control('GET')).toMatchObject([{ behaviour: 'hang' }, { behaviour: 'one', times: 3 }])
    expect(await control('DELETE', undefined, '?stage=settle')).toMatchObject([{ stage: 'verify' }])
    expect(await control('DELETE')).toEqual([])
  })
})

it('a sandbox that hangs still closes', async () => {
  const hung = await startSandbox({ fault: 'supported=hang:1' })
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: sandbox.localhost\r\n\r\n`
  const waiting = get('/v2/status/wait-for-block-after/999999999999')
  const cut = sendRaw(hung.url, waiting + get('/supported'))
  // The fault is used up: the second request hangs, and with it the first, which came before it on the same socket.
  await expect.poll(() => hung.faults.list()).toEqual([])
  await hung.close()
  expect(await cut).toMatchObject({ head: '', body: '' })
})

function hasLanded(txId: string): boolean {
  return sandbox.transactions().some(landed => landed.txId === txId)
}

function urlOf(stage: Stage): string {
  return `${sandbox.facilitatorUrl}/${stage}`
}

async function bodyOf(stage: Stage): Promise<string | undefined> {
  return stage === 'supported' ? undefined : JSON.stringify((await pay()).body)
}

async function ask(stage: Stage, body?: unknown, timeoutMs = 5_000) {
  const {
    statusCode,
    headers,
    body: answer,
  } = await request(urlOf(stage), {
    method: stage === 'supported' ? 'GET' : 'POST',
    body: body === undefined ? await bodyOf(stage) : JSON.stringify(body),
    signal: AbortSignal.timeout(timeoutMs),
  })
  const text = await answer.text()
  return { status: statusCode, headers, json: (text.startsWith('{') ? JSON.parse(text) : {}) as Answer }
}
