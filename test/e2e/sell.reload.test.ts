/** What `svc sell` goes on with when its terms are read again. */
import { describe, expect, it, vi } from 'vitest'
import type { ShutdownReport } from '../../src/index.js'
import { closing } from '../support/closing.js'
import { gate } from '../support/gate.js'
import { OK } from '../support/raw-upstream.js'
import { ask, challengeIn, pay, signFor } from '../support/seller.js'
import { soldUpstream } from '../support/sold-upstream.js'

const ROUTES = [{ route: 'POST /v1/*', price: '$0.01' }]

async function open(options?: Parameters<typeof soldUpstream>[1]) {
  const sold = closing(await soldUpstream({ routes: ROUTES }, options))
  const target = `${sold.url}/v1/x`
  const payer = { sandbox: sold.sandbox, url: sold.url } as Parameters<typeof pay>[0]
  /** A call that waits in the server behind, until `more` opens. */
  const slow = async () => {
    const [begun, more] = [gate(), gate()]
    sold.upstream.answer = async socket => {
      begun.open()
      await more.opened
      OK(socket)
    }
    const running = pay(payer, target, { body: 'slow' })
    await begun.opened
    sold.upstream.answer = OK
    return { running, more }
  }
  const readAgain = () => sold.server.reload(sold.terms)
  const readyOf = async () => (await ask(`${sold.url}/ready`, { method: 'GET' })).json()
  return { ...sold, target, payer, slow, readAgain, readyOf }
}

describe('terms that are read again', () => {
  it('go on with the metrics, and count the calls of earlier terms that are at work', async () => {
    const sold = await open()
    await pay(sold.payer, sold.target, { body: 'a' })
    const { running, more } = await sold.slow()
    sold.readAgain()
    await pay(sold.payer, sold.target, { body: 'b' })
    const metrics = async () => (await ask(`${sold.url}/metrics`, { method: 'GET' })).text()
    const during = await metrics()
    expect(during).toContain('svc_settled_total 2\n')
    expect(during).toContain('svc_requests_in_flight 1\n')
    more.open()
    await running
    await expect.poll(metrics).toContain('svc_settled_total 3\n')
    expect(await metrics()).toContain('svc_requests_in_flight 0\n')
  })

  it('report at the end the calls of earlier terms that were cut', async () => {
    const onShutdown = vi.fn<(report: ShutdownReport) => void>()
    const sold = await open({ shutdownTimeoutMs: 50, onShutdown })
    const { running } = await sold.slow()
    sold.readAgain()
    const report = await sold.server.shutdown('SIGTERM')
    expect([(await running).status, report]).toMatchObject([503, { outcome: 'timedOut', abandoned: 1 }])
    expect(onShutdown.mock.calls).toEqual([[report]])
  })

  it('are cut with those before by a second signal', async () => {
    const sold = await open({ shutdownTimeoutMs: 600_000 })
    const { running } = await sold.slow()
    sold.readAgain()
    const [first, second] = [sold.server.shutdown('SIGTERM'), sold.server.shutdown('SIGTERM')]
    expect((await running).status).toBe(503)
    expect(await first).toMatchObject({ outcome: 'timedOut', abandoned: 1 })
    expect(await second).toBe(await first)
  })

  it('quote the sponsor that is known, and are ready, while the facilitator is down', async () => {
    const sold = await open()
    await expect.poll(sold.readyOf).toEqual({ ok: true })
    const before = challengeIn(await ask(sold.target, { body: 'x' })).accepts[0]
    expect(before).toMatchObject({ extra: { feePayer: expect.any(String) } })
    sold.sandbox.faults.set('supported', 'reset')
    sold.readAgain()
    expect(await sold.readyOf()).toEqual({ ok: true })
    expect(challengeIn(await ask(sold.target, { body: 'x' })).accepts[0]).toEqual(before)
  })

  it('still ask a facilitator that answered after they were read', async () => {
    const sold = await open()
    sold.readAgain()
    sold.readAgain()
    const payment = await signFor(sold.payer, sold.target, { body: 'x' })
    sold.readAgain()
    expect((await ask(sold.target, { body: 'x', headers: payment })).status).toBe(200)
  })
})
