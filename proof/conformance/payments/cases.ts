/** What is tried on a real node. Each case says how many payments may land; the balances must say the same. */
import { once } from 'node:events'
import { request } from 'node:http'
import { makePaymentTxnWithSuggestedParamsFromObject } from 'algosdk'
import { signingKeyFromSeed } from '../../../src/adapters/algorand/signing-keys.js'
import type { PaymentRequired } from '../../../src/domain/x402.js'
import { systemRandom } from '../../../src/ports/random.js'
import { optInOf } from '../../../src/wallet/send.js'
import { DOORS, type TestDoor } from '../../../test/support/doors.js'
import { decoded, type Stage } from './stage.js'

export interface Told {
  readonly told: string
  readonly isRight: boolean
}

export interface Case {
  readonly name: string
  readonly charges: number
  run(stage: Stage): Promise<Told>
}

const AT_ONCE = 8
/** Ten rounds, the least that a client signs for. */
const SOON_SECONDS = 28

export const CASES: readonly Case[] = [
  ...(['facilitator', 'chain'] as const).map(
    (confirm): Case => ({
      name: `sold and paid, confirm: '${confirm}'`,
      charges: 1,
      async run({ sell, client }) {
        const { url, seen } = await sell({ confirm })
        const { data, payment } = await client().call<{ done: boolean }>(`${url}/work`)
        return {
          told: `200, transaction ${payment?.txId?.slice(0, 8)}…`,
          isRight: data.done && seen.runs === 1,
        }
      },
    }),
  ),
  {
    name: 'the handler fails',
    charges: 0,
    async run({ sell, client }) {
      const { url } = await sell({
        handler() {
          throw new Error('as planned')
        },
      })
      const { code, charged } = await refusal(client().call(`${url}/work`))
      return { told: `${code}, charged: ${charged}`, isRight: code === 'call_failed' && charged === 'no' }
    },
  },
  {
    name: `${AT_ONCE} at once`,
    charges: AT_ONCE,
    async run({ sell, client }) {
      const { url, seen } = await sell()
      const one = client()
      const calls = Array.from({ length: AT_ONCE }, () => one.call(`${url}/work`))
      const ids = new Set((await Promise.all(calls)).map(({ payment }) => payment?.txId))
      return { told: `${ids.size} transactions`, isRight: ids.size === AT_ONCE && seen.runs === AT_ONCE }
    },
  },
  {
    name: 'a payer without USDC',
    charges: 0,
    async run({ sell, signed, send, buyer, definition }) {
      const poor = signingKeyFromSeed(systemRandom.bytes(32))
      const pay = { sender: buyer.address, receiver: poor.address, amount: 201_000n }
      await send(suggestedParams => makePaymentTxnWithSuggestedParamsFromObject({ ...pay, suggestedParams }))
      await send(params => optInOf(poor.address, definition.usdc, params), poor)
      const { url, seen } = await sell()
      const { headers } = await signed(`${url}/work`, poor)
      const response = await post(`${url}/work`, headers)
      return { told: await inWords(response), isRight: response.status === 402 && seen.runs === 0 }
    },
  },
  {
    name: "the facilitator's answer is lost",
    charges: 1,
    async run({ sell, client, forgetfulFacilitator }) {
      const { url, seen } = await sell({ facilitatorUrl: await forgetfulFacilitator() })
      const { data } = await client().call<{ done: boolean }>(`${url}/work`)
      return { told: `200, ${seen.runs} run`, isRight: data.done && seen.runs === 1 }
    },
  },
  {
    name: 'the answer is lost on its way to the client, which asks again',
    charges: 1,
    async run({ sell, client }) {
      const { url, seen } = await sell({ idempotency: { onLostResponse: 'replay' } })
      let isLost = false
      const fetchImpl: typeof fetch = async (...asked) => {
        const response = await fetch(...asked)
        if (isLost || response.status !== 200) return response
        isLost = true
        await response.arrayBuffer()
        throw new TypeError('the connection was cut')
      }
      const { data } = await client({ fetchImpl }).call<{ done: boolean }>(`${url}/work`)
      return {
        told: `200 at the second time, ${seen.runs} run`,
        isRight: isLost && data.done && seen.runs === 1,
      }
    },
  },
  {
    name: 'the client hangs up while the handler works, and asks again',
    charges: 1,
    async run({ sell, signed }) {
      let hangUp = () => {}
      const { url, seen } = await sell({
        async handler({ signal }) {
          if (seen.runs > 1) return { done: true }
          hangUp()
          await once(signal, 'abort')
        },
      })
      const { headers } = await signed(`${url}/work`)
      const cut = request(`${url}/work`, { method: 'POST', headers }).on('error', () => {})
      hangUp = () => cut.destroy()
      await new Promise(resolve => cut.on('close', resolve).end())
      const response = await unheld(() => post(`${url}/work`, headers))
      const isRight = response.status === 200 && seen.runs === 2
      return { told: `${await inWords(response)}, ${seen.runs} runs`, isRight }
    },
  },
  {
    name: 'a payment is sent after its last round',
    charges: 0,
    async run({ sell, signed, past }) {
      const { url, seen } = await sell({ advanced: { maxTimeoutSeconds: SOON_SECONDS } })
      const { headers, lastValid } = await signed(`${url}/work`)
      await past(lastValid)
      const response = await post(`${url}/work`, headers)
      return { told: await inWords(response), isRight: response.status === 402 && seen.runs === 0 }
    },
  },
  {
    name: 'a payment dies while the handler works',
    charges: 0,
    async run({ sell, signed, past }) {
      let lastRound = 0n
      const { url, seen } = await sell({
        advanced: { maxTimeoutSeconds: SOON_SECONDS },
        async handler() {
          await past(lastRound)
          return { done: true }
        },
      })
      const { headers, lastValid } = await signed(`${url}/work`)
      lastRound = lastValid
      const response = await post(`${url}/work`, headers)
      return { told: await inWords(response), isRight: response.status !== 200 && seen.runs === 1 }
    },
  },
  ...Object.entries(DOORS).map(
    ([name, door]: [string, TestDoor]): Case => ({
      name: `sold through the door of ${name}`,
      charges: 1,
      async run({ sell, signed }) {
        const { url } = await sell()
        const { headers } = await signed(`${url}/work`)
        const { code, receipt } = await door(url, { skill: 'work', input: {}, headers })
        const id = String(receipt?.transaction).slice(0, 8)
        return { told: `${code}, transaction ${id}…`, isRight: code === 'ok' && receipt?.success === true }
      },
    }),
  ),
]

function post(url: string, headers: Readonly<Record<string, string>>): Promise<Response> {
  return fetch(url, { method: 'POST', headers })
}

/** Asks until the payment is not held by the call before. */
async function unheld(send: () => Promise<Response>): Promise<Response> {
  const response = await send()
  return (await inWords(response.clone())) === '409 payment_in_use' ? unheld(send) : response
}

async function inWords(response: Response): Promise<string> {
  const challenge = response.headers.get('payment-required')
  if (challenge) return `${response.status} ${decoded<PaymentRequired>(challenge).error}`
  const { error } = (await response.json()) as { error?: { code: string } }
  return `${response.status}${error ? ` ${error.code}` : ''}`
}

async function refusal(call: Promise<unknown>): Promise<{ code: string; charged: string }> {
  const error = await call.then(
    () => ({ code: 'ok', detail: { charged: 'yes' } }),
    thrown => thrown,
  )
  return { code: error.code, charged: error.detail?.charged }
}
