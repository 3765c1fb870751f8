/** What happens to payments: pooled, landed, dropped, sent again; accounts that rekey, close and opt in. */

import { txIdOf } from '../../../src/adapters/algorand/transaction-hashes.js'
import { type Question, question } from '../question.js'
import type { Stage } from '../stage.js'
import { withoutCertificate } from './reads.js'

async function confirmed(stage: Stage, path: string) {
  const { body } = await stage.peer.ask({ method: 'GET', path })
  return JSON.parse(Buffer.from(body).toString())['confirmed-round'] as number | undefined
}

export const lifecycles: readonly Question[] = [
  question('a payment is pooled, and then it lands', async stage => {
    const [payment] = await stage.group({ from: 'asker', amount: 5n })
    const submitted = await stage.submit([payment!])
    const pooled = await stage.pending(payment!.txn)
    const path = `/v2/accounts/${stage.cast.address('asker')}/assets/${stage.peer.assetId}`
    const before = await stage.get(path)
    await stage.peer.land()
    return {
      submitted,
      pooled,
      before,
      landed: await stage.pending(payment!.txn),
      after: await stage.get(path),
    }
  }),
  question('the pool lists a payment', async stage => {
    const [payment] = await stage.group({ from: 'asker', amount: 6n })
    await stage.submit([payment!])
    const all = await stage.get('/v2/transactions/pending')
    const own = await stage.get(`/v2/accounts/${stage.cast.address('asker')}/transactions/pending`)
    const others = await stage.get(`/v2/accounts/${stage.cast.address('carol')}/transactions/pending`)
    await stage.peer.land()
    return { all, own, others, after: await stage.get('/v2/transactions/pending') }
  }),
  question('the pool in msgpack', async stage => {
    const [payment] = await stage.group({ from: 'asker', amount: 7n })
    await stage.submit([payment!])
    const all = await stage.get('/v2/transactions/pending?format=msgpack')
    const one = await stage.pending(payment!.txn, '?format=msgpack')
    await stage.peer.land()
    return { all, one, landed: await stage.pending(payment!.txn, '?format=msgpack') }
  }),
  question('a pooled payment again: simulated and submitted', async stage => {
    const group = await stage.group({ from: 'asker', amount: 8n })
    await stage.submit(group)
    const told = { simulated: await stage.simulate(group), submitted: await stage.submit(group) }
    await stage.peer.land()
    return told
  }),
  question('a landed payment again: simulated and submitted', async stage => {
    const group = await stage.group({ from: 'asker', amount: 9n }, { from: 'asker', amount: 10n })
    await stage.land(group)
    return { simulated: await stage.simulate(group), submitted: await stage.submit(group) }
  }),
  question('what a pooled payment takes cannot be spent again, and simulates', async stage => {
    const first = await stage.group({ from: 'mover', amount: 45n })
    const second = await stage.group({ from: 'mover', amount: 44n })
    await stage.submit(first)
    const told = { simulated: await stage.simulate(second), submitted: await stage.submit(second) }
    await stage.land(await stage.group({ from: 'alice', to: 'mover', amount: 45n }))
    return told
  }),
  question('a payment in the pool and another of it lands in order', async stage => {
    await stage.submit(await stage.group({ from: 'alice', to: 'mover', amount: 100n }))
    const told = await stage.land(await stage.group({ from: 'mover', to: 'alice', amount: 100n }))
    return told
  }),
  question('confirmed rounds are not ahead of the last one, and have a block', async stage => {
    const [payment] = await stage.group({ from: 'asker', amount: 11n })
    await stage.land([payment!])
    const round = (await confirmed(stage, `/v2/transactions/pending/${stage.txIds.at(-1)}`))!
    const block = await stage.get(`/v2/blocks/${round}/txids`)
    return { reached: BigInt(round) <= (await stage.peer.round()), block }
  }),
  question('a lease is held, and not by another lease', async stage => {
    const lease = Buffer.alloc(32, 3)
    const other = Buffer.alloc(32, 4)
    const move = { from: 'asker', amount: 1n, lastIn: 400n } as const
    return {
      first: await stage.submit(await stage.group({ ...move, lease })),
      again: await stage.submit(await stage.group({ ...move, lease })),
      other: await stage.submit(await stage.group({ ...move, lease: other })),
      another: await stage.submit(await stage.group({ ...move, from: 'bob', to: 'alice', lease })),
      landed: await stage.peer.land(),
      simulated: await stage.simulate(await stage.group({ ...move, lease })),
      submitted: await stage.submit(await stage.group({ ...move, lease })),
    }
  }),
  question('an account rekeys, pays by its new key, and rekeys back', async stage => {
    const rekey = await stage.group({ from: 'mover', to: 'mover', asset: null, amount: 0n, rekeyTo: 'bob' })
    const rekeyed = await stage.land(rekey)
    const account = await stage.get(`/v2/accounts/${stage.cast.address('mover')}`)
    const txn = await stage.transaction({ from: 'mover', amount: 1n })
    const old = stage.cast.signed(txn, 'mover')
    const named = stage.cast.signed(txn, 'bob', { names: true })
    const told = {
      old: await stage.simulate([old]),
      oldSubmitted: await stage.submit([old]),
      unnamed: await stage.simulate([stage.cast.signed(txn, 'bob')]),
      simulated: await stage.simulate([named]),
      fixed: await stage.simulate([old], { allowEmptySignatures: true, fixSigners: true }),
      paid: await stage.land([named]),
      landed: await stage.pending(txn),
    }
    const back = await stage.transaction({ from: 'mover', amount: 0n, rekeyTo: 'mover' })
    const returned = await stage.land([stage.cast.signed(back, 'bob', { names: true })])
    return {
      rekeyed,
      account,
      ...told,
      returned,
      after: await stage.simulate([await stage.signed({ from: 'mover' })]),
    }
  }),
  question('a rekey in a group counts for the next member', async stage => {
    const group = await stage.group(
      { from: 'mover', to: 'mover', asset: null, amount: 0n, rekeyTo: 'bob' },
      { from: 'mover', amount: 1n },
    )
    return stage.simulate(group)
  }),
  question('an account opts in, is paid, and closes its holding', async stage => {
    const address = stage.cast.address('newcomer')
    const holding = `/v2/accounts/${address}/assets/${stage.peer.assetId}`
    const optIn = await stage.land(await stage.group({ from: 'newcomer', to: 'newcomer', amount: 0n }))
    const empty = await stage.get(holding)
    await stage.land(await stage.group({ to: 'newcomer', amount: 70n }))
    const close = await stage.group({ from: 'newcomer', to: 'bob', amount: 20n, closeTo: 'alice' })
    const closed = await stage.land(close)
    return {
      optIn,
      empty,
      closed,
      landed: await stage.pending(close[0]!.txn),
      gone: await stage.get(holding),
    }
  }),
  question('a block shows closings, multisig and rekeyed senders', async stage => {
    const optIn = await stage.group({ from: 'newcomer', to: 'newcomer', amount: 0n })
    await stage.land(optIn)
    await stage.land(await stage.group({ to: 'newcomer', amount: 9n }))
    await stage.submit(await stage.group({ from: 'newcomer', to: 'bob', amount: 2n, closeTo: 'alice' }))
    await stage.submit([await stage.signed({ from: 'shared', to: 'alice', amount: 1n })])
    const [last] = await stage.group({
      from: 'leaver',
      to: 'alice',
      amount: 1n,
      more: { genesisID: undefined },
    })
    await stage.land([last!])
    const round = await confirmed(stage, `/v2/transactions/pending/${txIdOf(last!.txn)}`)
    return {
      json: await stage.get(`/v2/blocks/${round}`),
      msgpack: withoutCertificate(await stage.get(`/v2/blocks/${round}?format=msgpack`)),
    }
  }),
  question('the pool lists at most as many as are asked for', async stage => {
    await stage.submit(await stage.group({ from: 'asker', amount: 21n }))
    await stage.submit(await stage.group({ from: 'asker', amount: 22n }))
    const some = await stage.get('/v2/transactions/pending?max=1')
    const path = `/v2/accounts/${stage.cast.address('asker')}/transactions/pending?max=1`
    const own = await stage.get(path)
    const all = await stage.get('/v2/transactions/pending?max=0')
    await stage.peer.land()
    return { some, own, all }
  }),
  question('an account closes', async stage => {
    const close = await stage.group({
      from: 'closer',
      to: 'bob',
      asset: null,
      amount: 1_000n,
      closeTo: 'alice',
    })
    const closed = await stage.land(close)
    const account = await stage.get(`/v2/accounts/${stage.cast.address('closer')}`)
    return { closed, landed: await stage.pending(close[0]!.txn), account }
  }),
  question('a new account opts in with 0.2 ALGO from its group', async stage => {
    const group = await stage.group(
      { to: 'fresh', asset: null, amount: 200_000n, fee: 2_000n },
      { from: 'fresh', to: 'fresh', amount: 0n, fee: 0n },
    )
    const told = await stage.land(group)
    return { told, account: await stage.get(`/v2/accounts/${stage.cast.address('fresh')}`) }
  }),
  question('a sponsored payment of an account with exactly 0.2 ALGO', async stage => {
    const group = await stage.group(
      { to: 'alice', asset: null, amount: 0n, fee: 2_000n },
      { from: 'exact', amount: 1n, fee: 0n },
    )
    return { told: await stage.land(group), landed: await stage.pending(group[1]!.txn) }
  }),
  question('a dropped payment', async stage => {
    const [payment] = await stage.group({ from: 'asker', amount: 12n, lastIn: 1n })
    await stage.land([payment!])
    const { body } = await stage.pending(payment!.txn)
    const { 'pool-error': error, 'confirmed-round': round } = body as Record<string, unknown>
    // In time or too late: both chains say which.
    return error === '' ? round !== undefined : /^txn dead/.test(String(error))
  }),
  question('past its last round a landed payment is dead', async stage => {
    const group = await stage.group({ from: 'asker', amount: 13n, lastIn: 3n })
    await stage.land(group)
    for (let round = 0; round < 4; round++) await stage.peer.land()
    return {
      simulated: await stage.simulate(group),
      submitted: await stage.submit(group),
      pending: await stage.pending(group[0]!.txn),
    }
  }),
]
