/** `svc tx`: what a node or an indexer says of a transaction, and whether that is a payment. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { indexedTransfers } from '../../src/audit/reconciliation/incoming-transfers.js'
import { lookUp, type Sighting, whyNoPayment } from '../../src/checks/did-transaction-land.js'
import { TESTNET } from '../../src/domain/network.js'
import { closing } from '../support/closing.js'

const TX = 'T'.repeat(52)
const ZERO = 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAY5HFKQ'
const PARAMS = {
  'genesis-id': TESTNET.genesisId,
  'genesis-hash': TESTNET.genesisHash,
  'last-round': 9,
}

/** Answers each path with JSON, and 404 where it has none. */
async function nodeWith(answers: Readonly<Record<string, unknown>>): Promise<string> {
  const server = createServer(({ url = '' }, response) => {
    const body = answers[url.split('?')[0]!]
    response.writeHead(body ? 200 : 404).end(JSON.stringify(body ?? { message: 'no' }))
  }).listen(0, '127.0.0.1')
  closing({ close: () => void server.close() })
  await new Promise(resolve => server.once('listening', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function indexed(transfer?: object) {
  const transaction = { id: TX, sender: 'SENDER', 'confirmed-round': 5, 'round-time': 7 }
  return transfer ? { ...transaction, 'asset-transfer-transaction': transfer } : transaction
}

async function sightedBy(params: object, transaction: object): Promise<Sighting> {
  const node = await nodeWith({ '/v2/transactions/params': params })
  const indexerUrl = await nodeWith({
    '/v2/transactions': { transactions: [transaction], 'current-round': 9 },
  })
  return lookUp(TX, { network: TESTNET, algod: { url: node, token: undefined }, indexerUrl })
}

const usdc = { receiver: 'SELLER', 'asset-id': Number(TESTNET.usdcId), amount: 10_000 }

describe('svc tx', () => {
  it.each([
    ['a transfer of USDC', usdc, undefined],
    ['an opt-in to USDC', { ...usdc, amount: 0 }, 'it moved $0.00 in USDC'],
    ['a transfer of another asset', { ...usdc, 'asset-id': 5 }, 'it moved 10000 base units of asset 5'],
    ['no transfer', undefined, 'it moved no asset'],
  ])('takes for a payment what moved USDC alone: %s', async (_, transfer, why) => {
    const told = whyNoPayment(await sightedBy(PARAMS, indexed(transfer)), TESTNET)
    expect(told?.code).toBe(why && 'not_a_payment')
    if (why) expect(told!.message).toContain(why)
  })

  it.each<[string, bigint | undefined, bigint | undefined, string, string]>([
    ['without its last round', undefined, 200n, 'tx_not_found', '5 minutes, and some for 50'],
    ['before its last round', 100n, 100n, 'tx_not_found', 'until round 100'],
    ['after its last round', 99n, 100n, 'tx_expired', 'can no longer land'],
    ['without an indexer', 99n, undefined, 'tx_not_found', 'give --indexer'],
    ['with the indexer of another network', 99n, 9_999n, 'tx_not_found', 'until round 99'],
  ])(
    'says of what nobody has seen whether it can still land: %s',
    (_, lastValid, indexerRound, code, words) => {
      const unseen = { state: 'unseen', nodeRound: 100n, ...(indexerRound && { indexerRound }) } as const
      const told = whyNoPayment(unseen, TESTNET, lastValid)
      expect(told).toEqual({ code, message: expect.stringContaining(words) })
    },
  )

  it.each([
    ['hash', { ...PARAMS, 'genesis-hash': 'other' }],
    ['id', { ...PARAMS, 'genesis-id': 'other-v1.0' }],
  ])('asks no node with another genesis %s', async (_, params) => {
    await expect(sightedBy(params, indexed(usdc))).rejects.toMatchObject({ code: 'network_mismatch' })
  })
})

describe('the payer of a transfer that an indexer lists', () => {
  it.each([
    ['its sender', usdc, 'SENDER'],
    ['its sender, where nobody is named besides', { ...usdc, sender: ZERO }, 'SENDER'],
    ['who lost the asset, in a clawback', { ...usdc, sender: 'OWNER' }, 'OWNER'],
  ])('is %s, for svc tx and for audits', async (_, transfer, payer) => {
    const sighting = await sightedBy(PARAMS, indexed(transfer))
    expect(sighting).toMatchObject({ state: 'landed', moved: { payer, receiver: 'SELLER' } })
    const url = await nodeWith({ [`/v2/transactions/${TX}`]: { transaction: indexed(transfer) } })
    const transfers = indexedTransfers({ url })
    expect(await transfers.find(TX)).toMatchObject({ payer })
    await transfers.close()
  })
})
