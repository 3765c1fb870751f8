/** The first mistakes of every buyer are told before anything is signed, and an account with money costs no more questions. */
import { generateAccount, secretKeyToMnemonic } from 'algosdk'
import { expect, it } from 'vitest'
import { SvcClient } from '../../src/client.js'
import { closing } from '../support/closing.js'
import { fakeNode } from '../support/fake-node.js'
import { honest, marketForFile, PRICE } from './market.js'

const market = marketForFile()

/** The client of a wallet that has what it is given, and the paths that its node is asked. */
async function buyer(credit: { usdc?: bigint; optIn?: boolean }, isHidden = (_path: string) => false) {
  const { addr, sk } = generateAccount()
  const address = addr.toString()
  market.sandbox.fund(address, { microAlgos: 1_000_000n, ...credit })
  const node = closing(
    await fakeNode((path, response) => {
      if (isHidden(path)) return void response.writeHead(404).end('{"message":"no such path"}')
      void fetch(market.sandbox.algodUrl + path).then(async answer =>
        response.writeHead(answer.status).end(await answer.text()),
      )
    }),
  )
  const client = new SvcClient({
    mnemonic: secretKeyToMnemonic(sk),
    network: 'testnet',
    algodUrl: node.url,
    maxPerDay: '$1',
  })
  const asked = () => node.requests.filter(path => path.includes('/assets/')).length
  return { client, address, asked }
}

it('a wallet that is not opted in to USDC is told so, and nothing is signed', async () => {
  const { client, address } = await buyer({})
  const seller = await market.seller(honest)
  await expect(client.call(seller.url, {})).rejects.toMatchObject({
    code: 'no_opt_in',
    message: `This wallet is not opted in to USDC on testnet: svc wallet optin; nothing was paid (${address})`,
  })
  expect(client.remainingToday).toBe(1)
  expect(seller.paid()).toEqual([])
  market.sandbox.fund(address, { usdc: PRICE })
  await client.call(seller.url, {})
})

it('a wallet with too little is told what it has and what the call costs', async () => {
  const { client, address } = await buyer({ usdc: 4_000n })
  const seller = await market.seller(honest)
  await expect(client.call(seller.url, {})).rejects.toMatchObject({
    code: 'insufficient_funds',
    message: `This wallet has $0.004, the call costs $0.01; nothing was paid (${address})`,
    detail: { usdc: '4000', amount: '10000' },
  })
  expect(client.remainingToday).toBe(1)
  expect(seller.paid()).toEqual([])
})

it('the node is asked once for all that a balance pays for, also by calls at once, and again when it may be used up', async () => {
  const { client, asked } = await buyer({ usdc: 5n * PRICE })
  const seller = await market.seller(honest)
  await Promise.all([1, 2].map(() => client.call(seller.url, {})))
  for (let call = 0; call < 3; call++) await client.call(seller.url, {})
  expect(asked()).toBe(1)
  await expect(client.call(seller.url, {})).rejects.toMatchObject({ code: 'insufficient_funds' })
  expect(asked()).toBe(2)
})

it('a node that does not answer about accounts stops no payment, and is not asked again', async () => {
  const { client, asked } = await buyer({ usdc: 5n * PRICE }, path => path.includes('/accounts/'))
  const seller = await market.seller(honest)
  for (let call = 0; call < 3; call++) await client.call(seller.url, {})
  expect(asked()).toBe(1)
})
