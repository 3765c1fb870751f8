/** The cases of `npm run real-node`, on the node of a sandbox: that they can be run, and that each is right there. */
import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { CASES } from '../../proof/conformance/payments/cases.js'
import { type Stage, stageOn } from '../../proof/conformance/payments/stage.js'
import { tried } from '../../proof/conformance/payments/tried.js'
import { mnemonicOf, signingKeyFromSeed } from '../../src/adapters/algorand/signing-keys.js'
import { type Localnet, startLocalnet } from '../../src/localnet/start-localnet.js'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import { LOCALNET } from '../support/localnet.js'

const NOWHERE = 'http://127.0.0.1:9'

let sandbox: Sandbox
let localnet: Localnet
let stage: Stage
let folder: string
beforeAll(async () => {
  // Ten rounds pass in four seconds, for which a first transaction of ours is valid, on a busy machine too.
  sandbox = await startSandbox({ network: LOCALNET, roundMs: 400 })
  const issuer = createHash('sha256').update('svc-sandbox\nissuer').digest()
  sandbox.fund(signingKeyFromSeed(issuer).address, { microAlgos: 10n ** 12n, usdc: 10n ** 12n })
  folder = await mkdtemp(join(tmpdir(), 'svc-real-node-'))
  const settings = {
    algod: sandbox.algodUrl,
    algodToken: 'any',
    kmd: NOWHERE,
    kmdToken: 'any',
    indexer: NOWHERE,
  }
  const out = join(folder, 'localnet.json')
  localnet = await startLocalnet({ settings: { ...settings, mnemonic: mnemonicOf(issuer) }, port: 0, out })
  stage = await stageOn(localnet)
})
afterAll(async () => {
  await stage.close()
  await localnet.close()
  await sandbox.close()
  await rm(folder, { recursive: true })
})

it.each(CASES)('$name', async each => {
  expect(await tried(stage, each)).toMatchObject({ isRight: true })
})
