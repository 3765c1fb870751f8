/** The call that `svc dev` shows: it stays with the agent that listens on the port, whatever that agent's manifest says. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { offerAt } from '../../cli/dev/first-call.js'
import { defineEndpoint } from '../../src/index.js'
import { startSandbox } from '../../src/sandbox.js'
import { closing } from '../support/closing.js'
import { LOCALNET } from '../support/localnet.js'
import { open } from '../support/seller.js'

const echo = defineEndpoint({ name: 'echo', price: '$0.01', handler: () => 'said' })

it('is a call of the agent itself', async () => {
  const { url } = await open([echo])
  expect((await offerAt(Number(new URL(url).port)))?.call).toMatchObject({
    url: `${url}/echo`,
    price: '0.01',
  })
})

it('is of an endpoint that takes JSON, whatever stands before it', async () => {
  const upload = defineEndpoint({ name: 'upload', price: '$0.02', bodyType: 'text', handler: () => 'taken' })
  const { url } = await open([upload, echo])
  expect((await offerAt(Number(new URL(url).port)))?.call?.url).toBe(`${url}/echo`)
})

it('leaves the body to the reader where all that is sold takes text or bytes, as routes of a gate may', async () => {
  const { url } = await open([
    defineEndpoint({ name: 'upload', price: '$0.02', bodyType: 'bytes', handler: () => 'taken' }),
  ])
  expect((await offerAt(Number(new URL(url).port)))?.call).toEqual({
    url: `${url}/upload`,
    price: '0.02',
    body: '<its input>',
  })
})

it('has its price on a network of one’s own too, whose definition need not name a node', async () => {
  const sandbox = closing(await startSandbox({ network: LOCALNET }))
  const { url } = await open([echo], { sandbox, about: { network: sandbox.network } })
  const port = Number(new URL(url).port)
  expect((await offerAt(port, { network: LOCALNET }))?.call).toMatchObject({ price: '0.01' })
  expect((await offerAt(port))?.call).toBeUndefined()
})

it('is none where the manifest names other hosts, and those are not asked', async () => {
  const inner = await open([echo])
  const asked: string[] = []
  inner.server.prependListener('request', ({ url = '' }) => asked.push(url))
  const entry = { name: 'echo', description: '', method: 'POST', price: '$0.01', input: {} }
  const endpoints = [`${inner.url}/echo`, 'not a URL', '//host/echo'].map(url => ({ ...entry, url }))
  const agent = createServer((_, res) => {
    res.setHeader('content-type', 'application/json')
    res.end(JSON.stringify({ name: 'A', handle: 'a-a', network: 'testnet', payTo: 'A', endpoints }))
  }).listen(0, '127.0.0.1')
  await once(agent, 'listening')
  const offer = await offerAt((agent.address() as AddressInfo).port)
  agent.closeAllConnections()
  agent.close()
  expect(offer?.manifest.endpoints).toHaveLength(3)
  expect({ call: offer?.call, asked }).toEqual({ call: undefined, asked: [] })
})
