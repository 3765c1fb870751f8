/** What a node tells of its accounts, its asset and its blocks. */

import { txIdOf } from '../../../src/adapters/algorand/transaction-hashes.js'
import { type Question, question } from '../question.js'
import type { Stage } from '../stage.js'

const FORMATS = ['', '?format=json', '?format=msgpack', '?format=msgp', '?format=xml', '?format=']

export const reads: readonly Question[] = [
  ...(['alice', 'carol', 'cold', 'shared', 'nobody'] as const).map(label =>
    question(`the account of ${label}`, stage => stage.get(`/v2/accounts/${stage.cast.address(label)}`)),
  ),
  ...FORMATS.slice(1).map(query =>
    question(`an account with ${query}`, stage =>
      stage.get(`/v2/accounts/${stage.cast.address('carol')}${query}`),
    ),
  ),
  ...['all', 'none', 'some'].map(value =>
    question(`an account with exclude=${value}`, stage =>
      stage.get(`/v2/accounts/${stage.cast.address('poor')}?exclude=${value}`),
    ),
  ),
  ...(['alice', 'cold'] as const).map(label =>
    question(`the account of ${label} in msgpack`, stage =>
      stage.get(`/v2/accounts/${stage.cast.address(label)}?format=msgpack`),
    ),
  ),
  question('an application x of an account', stage =>
    stage.get(`/v2/accounts/${stage.cast.address('alice')}/applications/x`),
  ),
  question('an account is one line', async stage => {
    const path = `/v2/accounts/${stage.cast.address('alice')}`
    const { body } = await stage.peer.ask({ method: 'GET', path })
    return Buffer.from(body).toString().split('\n').length
  }),
  question('an account in lower case', stage =>
    stage.get(`/v2/accounts/${stage.cast.address('alice').toLowerCase()}`),
  ),
  question('an account with a wrong checksum', stage => {
    const address = stage.cast.address('alice')
    return stage.get(`/v2/accounts/${address.slice(0, -1)}${address.endsWith('A') ? 'E' : 'A'}`)
  }),
  ...(['alice', 'cold', 'carol', 'nobody'] as const).map(label =>
    question(`the holding of ${label}`, stage =>
      stage.get(`/v2/accounts/${stage.cast.address(label)}/assets/${stage.peer.assetId}`),
    ),
  ),
  question('a holding in msgpack', stage =>
    stage.get(`/v2/accounts/${stage.cast.address('alice')}/assets/${stage.peer.assetId}?format=msgpack`),
  ),
  question('a holding of an asset that is not there', stage =>
    stage.get(`/v2/accounts/${stage.cast.address('alice')}/assets/999999999999`),
  ),
  question('a holding of x', stage => stage.get(`/v2/accounts/${stage.cast.address('alice')}/assets/x`)),
  question('an application of an account', stage =>
    stage.get(`/v2/accounts/${stage.cast.address('alice')}/applications/999999999999`),
  ),
  question('the asset', stage => stage.get(`/v2/assets/${stage.peer.assetId}`)),
  ...FORMATS.map(query =>
    question(`a block with '${query}'`, async stage => {
      const round = await roundOfPayment(stage, `block ${query}`)
      const txids = await stage.get(`/v2/blocks/${round}/txids`)
      const block = await stage.get(`/v2/blocks/${round}${query}`)
      return { block: withoutCertificate(block), txids: query === '' ? txids : undefined }
    }),
  ),
  question('the header of a block', async stage => {
    const round = await roundOfPayment(stage, 'a header')
    return stage.get(`/v2/blocks/${round}?header-only=true`)
  }),
  question('the hash of a block', async stage => stage.get(`/v2/blocks/${await stage.peer.round()}/hash`)),
  question('the pool of an account', stage =>
    stage.get(`/v2/accounts/${stage.cast.address('alice')}/transactions/pending`),
  ),
  question('the pool in another format', stage => stage.get('/v2/transactions/pending?format=xml')),
]

/** Lands a payment, and tells the round that it is in. */
async function roundOfPayment(stage: Stage, note: string): Promise<number> {
  const [payment] = await stage.group({ amount: 1n, note: Buffer.from(note) })
  await stage.land([payment!])
  const path = `/v2/transactions/pending/${txIdOf(payment!.txn)}`
  const { body } = await stage.peer.ask({ method: 'GET', path })
  return JSON.parse(Buffer.from(body).toString())['confirmed-round']
}

/** A network's blocks have one, and the blocks of development mode too; it says nothing of payments. */
export function withoutCertificate(block: { body: unknown }): unknown {
  const { cert: _, ...body } = block.body as Record<string, unknown>
  return { ...block, body }
}
