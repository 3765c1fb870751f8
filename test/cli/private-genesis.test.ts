/** Which nodes `svc localnet` takes for those of a private network. */
import { expect, it } from 'vitest'
import { TESTNET } from '../../src/domain/network.js'
import { privateGenesis } from '../../src/localnet/start-localnet.js'
import { LOCALNET } from '../support/localnet.js'

function nodeOf({ genesisId, genesisHash } = LOCALNET as { genesisId: string; genesisHash: string }) {
  const asked: string[] = []
  const get = async (path: string) => {
    asked.push(path)
    return { 'genesis-id': genesisId, 'genesis-hash': genesisHash }
  }
  return { asked, get }
}

it.each(['http://127.0.0.1:4001', 'http://[::1]:4001', 'http://localhost:4001', 'http://192.168.7.7:4001'])(
  'takes a node at %s',
  async algod => {
    expect(await privateGenesis(nodeOf(), { algod })).toEqual({
      genesisId: LOCALNET.genesisId,
      genesisHash: LOCALNET.genesisHash,
    })
  },
)

it('asks a node at a public address nothing, unless the user says that its network is private', async () => {
  const node = nodeOf()
  const algod = 'http://8.8.8.8:4001'
  await expect(privateGenesis(node, { algod })).rejects.toMatchObject({
    code: 'invalid_network',
    message: expect.stringContaining('--public-address'),
  })
  expect(node.asked).toEqual([])
  expect(await privateGenesis(node, { algod, publicAddress: true })).toMatchObject({
    genesisId: LOCALNET.genesisId,
  })
})

it.each([
  ['mainnet-v1.0', LOCALNET.genesisHash],
  ['voimain-v1.0', LOCALNET.genesisHash],
  ['mine-v1', TESTNET.genesisHash],
])('refuses the public network %s wherever its node is', async (genesisId, genesisHash) => {
  const node = nodeOf({ genesisId, genesisHash })
  const asked = privateGenesis(node, { algod: 'http://127.0.0.1:4001', publicAddress: true })
  await expect(asked).rejects.toMatchObject({ code: 'invalid_network' })
})
