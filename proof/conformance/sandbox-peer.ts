/** The sandbox as a peer. Its rounds stand still; payments wait in its pool until the next round is made. */
import { request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { type Sandbox, startSandbox } from '../../src/sandbox.js'
import type { Asked, Peer, Told } from './peer.js'

/** Longer than any run. */
const ROUND_MS = 86_400_000

/** In development mode it lands at once what it takes, as a node does in that mode. */
export async function sandboxPeer(name = 'sandbox', isInDevelopment = false): Promise<Peer> {
  const sandbox: Sandbox = await startSandbox({ roundMs: ROUND_MS, landing: 'with-the-round' })
  const ask = async (asked: Asked) => {
    const told = await askAt(sandbox.url, asked)
    const isTaken = asked.method === 'POST' && asked.path === '/v2/transactions' && told.status === 200
    if (isInDevelopment && isTaken) sandbox.advanceRounds(1)
    return told
  }
  const params = JSON.parse(
    Buffer.from((await ask({ method: 'GET', path: '/v2/transactions/params' })).body).toString(),
  )
  return {
    name,
    isInDevelopment,
    assetId: sandbox.assetId,
    genesisId: params['genesis-id'],
    genesisHash: Buffer.from(params['genesis-hash'], 'base64'),
    ask,
    async fund(members) {
      for (const { address, microAlgos, usdc, isFrozen } of members) {
        sandbox.fund(address, { microAlgos, usdc: usdc ?? 0n, optIn: usdc !== null })
        if (isFrozen) sandbox.freeze(address, true)
      }
    },
    land: async () => sandbox.advanceRounds(1),
    round: async () => sandbox.round(),
    close: () => sandbox.close(),
  }
}

/** By hand: fetch adds headers of its own and follows redirects. */
export function askAt(url: string, { method, path, body, headers = {} }: Asked): Promise<Told> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}${path}`, { method, headers, agent: false }, async reply => {
      try {
        const text = await buffer(reply)
        const told = Object.entries(reply.headers).map(([key, value]) => [key, String(value)])
        resolve({ status: reply.statusCode!, headers: Object.fromEntries(told), body: text })
      } catch (error) {
        reject(error)
      }
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
