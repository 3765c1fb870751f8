/** The options of a simulation, and the forms of its request and of its reply. */
import { encodeJSON, LogicSigAccount, modelsv2, SignedTransaction, TransactionType } from 'algosdk'
import { type Question, question } from '../question.js'
import { type Stage, simulation, unsigned } from '../stage.js'

const OPTIONS: Readonly<Record<string, object>> = {
  'allow-empty-signatures': { allowEmptySignatures: true },
  'fix-signers': { allowEmptySignatures: true, fixSigners: true },
  'fix-signers alone': { fixSigners: true },
  'extra-opcode-budget': { extraOpcodeBudget: 700 },
  'an extra-opcode-budget that is too large': { extraOpcodeBudget: 1_000_000 },
  'allow-more-logging': { allowMoreLogging: true },
  'allow-unnamed-resources': { allowUnnamedResources: true },
  'exec-trace-config': { execTraceConfig: new modelsv2.SimulateTraceConfig({ enable: true }) },
}

async function inJson(stage: Stage, change: (text: string) => string = text => text) {
  const txns = await stage.group({ amount: 1n, to: 'bob' })
  const request = new modelsv2.SimulateRequest({
    txnGroups: [new modelsv2.SimulateRequestTransactionGroup({ txns })],
  })
  return stage.ask('POST', '/v2/transactions/simulate', { body: change(encodeJSON(request)) })
}

export const simulations: readonly Question[] = [
  ...Object.entries(OPTIONS).flatMap(([name, options]) => [
    question(`simulate a signed payment with ${name}`, async stage =>
      stage.simulate([await stage.signed()], options),
    ),
    question(`simulate an unsigned payment with ${name}`, async stage =>
      stage.simulate([unsigned(await stage.transaction({}))], options),
    ),
  ]),
  ...['', '?format=json', '?format=msgpack', '?format=msgp', '?format=xml'].map(query =>
    question(`simulate with '${query}'`, async stage => stage.simulate([await stage.signed()], {}, query)),
  ),
  question('simulate, and Accept says msgpack', async stage =>
    stage.ask('POST', '/v2/transactions/simulate', {
      headers: { accept: 'application/msgpack' },
      body: simulation([[await stage.signed()]]),
    }),
  ),
  question('simulate in JSON', stage => inJson(stage)),
  question('simulate in JSON with an unknown key', stage =>
    inJson(stage, text => text.replace('"amt"', '"zzz"').replace('"aamt"', '"zzz"')),
  ),
  question('simulate in JSON with bytes after it', stage => inJson(stage, text => `${text} and more`)),
  question('simulate in msgpack with bytes after it', async stage =>
    stage.ask('POST', '/v2/transactions/simulate', {
      body: Buffer.concat([simulation([[await stage.signed()]]), Buffer.from('xyz')]),
    }),
  ),
  question('simulate two groups', async stage =>
    stage.ask('POST', '/v2/transactions/simulate', {
      body: simulation([[await stage.signed()], [await stage.signed()]]),
    }),
  ),
  question('simulate in a round that is not there yet', async stage =>
    stage.simulate([await stage.signed()], { round: (await stage.peer.round()) + 100n }),
  ),
  question('simulate in a round of the past', async stage =>
    stage.simulate([await stage.signed()], { round: (await stage.peer.round()) - 2n }),
  ),
  question('simulate in the last round', async stage =>
    stage.simulate([await stage.signed()], { round: await stage.peer.round() }),
  ),
  question('large amounts are plain digits', async stage => {
    const body = simulation([[await stage.signed({ amount: 2n ** 64n - 1n })]])
    const told = await stage.peer.ask({ method: 'POST', path: '/v2/transactions/simulate', body })
    return /"aamt": 18446744073709551615,/.test(Buffer.from(told.body).toString())
  }),
  question('simulate a program that signs for its account', async stage => {
    const account = new LogicSigAccount(Uint8Array.of(1, 32, 1, 1, 34))
    const txn = await stage.transaction({})
    Object.assign(txn, { sender: account.address() })
    return stage.simulate([new SignedTransaction({ txn, lsig: account.lsig })])
  }),
  question('simulate keys that go offline', async stage => {
    const txn = await stage.transaction({})
    Object.assign(txn, {
      type: TransactionType.keyreg,
      assetTransfer: undefined,
      keyreg: { nonParticipation: false },
    })
    return stage.simulate([stage.cast.signed(txn, 'alice')])
  }),
  question('simulate a closing', async stage =>
    stage.simulate(
      await stage.group(
        { from: 'leaver', to: 'bob', amount: 1n, closeTo: 'bob' },
        { from: 'leaver', to: 'bob', asset: null, amount: 1n, closeTo: 'bob' },
      ),
    ),
  ),
  question('simulate a poor payer who is helped in its group', async stage =>
    stage.simulate(
      await stage.group(
        { from: 'alice', to: 'nobody', asset: null, amount: 200_000n, fee: 2_000n },
        { from: 'nobody', to: 'nobody', amount: 0n, fee: 0n },
      ),
    ),
  ),
  question('simulate a poor payer who is not helped enough', async stage =>
    stage.simulate(
      await stage.group(
        { from: 'alice', to: 'nobody', asset: null, amount: 100_000n, fee: 2_000n },
        { from: 'nobody', to: 'nobody', amount: 0n, fee: 0n },
      ),
    ),
  ),
  question('the reply is indented', async stage => {
    const body = simulation([[await stage.signed()]])
    const told = await stage.peer.ask({ method: 'POST', path: '/v2/transactions/simulate', body })
    return Buffer.from(told.body).toString().slice(0, 4)
  }),
]
