/** A facilitator of one's own over REST, attacked while a seller settles through it. */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { facilitatorApp } from '../../src/facilitator.js'
import type { ProtocolFacilitator } from '../../src/ports/facilitator.js'
import { moved, rig } from '../facilitator/rig.js'
import { gated } from '../support/gate.js'
import { ask, open, signFor } from '../support/seller.js'

const PRICE = 10_000n
const FEE = 2_000n

/** One address, behind which a facilitator can be replaced by another process of it. */
async function scene(options: Parameters<typeof rig>[0] = {}) {
  const it = await rig(options)
  let listener: RequestListener
  const runs = (facilitator: ProtocolFacilitator) => {
    listener = facilitatorApp(facilitator).callback()
  }
  runs(it.facilitator)
  const server = createServer((request, response) => listener(request, response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const facilitatorUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const door = gated()
  const seller = await open([door.endpoint], {
    sandbox: it.sandbox,
    facilitatorUrl,
    idempotency: { onLostResponse: 'replay' },
  })
  const settled = async (headers: Record<string, string>) => {
    const paymentPayload = JSON.parse(Buffer.from(headers['payment-signature']!, 'base64').toString())
    const body = { x402Version: 2, paymentPayload, paymentRequirements: paymentPayload.accepted }
    return (await ask(`${facilitatorUrl}/settle`, { body })).json() as Promise<{ success: boolean }>
  }
  return { ...it, runs, door, seller, settled }
}

it('who settles a payment there while it is worked for takes no answer from its payer, and nobody pays twice', async () => {
  const { sandbox, sponsor, seller, door, settled } = await scene()
  const payment = await signFor(seller, `${seller.url}/slow`)
  const cost = await moved(sandbox, sponsor.address, async () => {
    const asked = ask(`${seller.url}/slow`, { headers: payment })
    await door.entered()
    const stolen = Array.from({ length: 6 }, () => settled(payment))
    door.open()
    expect((await asked).status).toBe(200)
    const yes = (await Promise.all(stolen)).filter(({ success }) => success)
    expect(yes.length).toBeLessThanOrEqual(1)
  })
  expect(cost).toEqual({ fees: FEE, paid: PRICE })
})

it('a process that is replaced between its word on a payment and its settlement settles it once', async () => {
  const { sandbox, sponsor, seller, door, runs, make, facilitator, settled } = await scene()
  const payment = await signFor(seller, `${seller.url}/slow`)
  const cost = await moved(sandbox, sponsor.address, async () => {
    const asked = ask(`${seller.url}/slow`, { headers: payment })
    await door.entered()
    await facilitator.close()
    runs(make())
    door.open()
    expect((await asked).status).toBe(200)
    runs(make())
    expect(await settled(payment)).toMatchObject({ success: false })
  })
  expect(cost).toEqual({ fees: FEE, paid: PRICE })
})

it('of two payments that the day’s last fee was free for, one is settled, and the other is told not charged', async () => {
  const { sandbox, sponsor, seller, door } = await scene({ feePerDayMax: Number(FEE) })
  const payments = await Promise.all([1, 2].map(() => signFor(seller, `${seller.url}/slow`)))
  const cost = await moved(sandbox, sponsor.address, async () => {
    const asked = payments.map(headers => ask(`${seller.url}/slow`, { headers }))
    await door.entered()
    door.open()
    const statuses = (await Promise.all(asked)).map(({ status }) => status).sort()
    expect(statuses).toEqual([200, 402])
    expect(seller.ended.filter(({ charged }) => charged === 'yes')).toHaveLength(1)
  })
  expect(cost).toEqual({ fees: FEE, paid: PRICE })
})
