/** A node that takes every group at once, and has a round for each. What a facilitator in a seller's process asks it is all there is. */
import { createServer } from 'node:http'
import { decodeMember } from '../../../dist/src/adapters/algorand/decode-by-algosdk.js'
import { splitValues } from '../../../dist/src/adapters/algorand/msgpack.js'
import { txIdOf } from '../../../dist/src/adapters/algorand/transaction-hashes.js'
import { ready } from './child.mjs'
import { PARAMS, STATUS } from './standing-chain.mjs'

const SIMULATED = { ...STATUS, version: 2, 'txn-groups': [{ 'txn-results': [] }] }
const landed = new Set()

const server = createServer((req, res) => {
  const chunks = []
  req.on('data', chunk => chunks.push(chunk))
  req.on('end', () => {
    const [status, body] = answerTo(req.url, Buffer.concat(chunks))
    const text = JSON.stringify(body)
    res.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
    res.end(text)
  })
})

function answerTo(path, body) {
  if (path === '/v2/transactions/params') return [200, PARAMS]
  if (path.startsWith('/v2/transactions/simulate')) return [200, SIMULATED]
  if (path === '/v2/transactions') {
    const ids = splitValues(body, 16).map(bytes => txIdOf(decodeMember(bytes).txn))
    for (const id of ids) landed.add(id)
    return [200, { txId: ids[0] }]
  }
  const asked = /pending\/([A-Z2-7]{52})/.exec(path)?.[1]
  if (asked === undefined) return [200, STATUS]
  return landed.has(asked)
    ? [200, { 'confirmed-round': STATUS['last-round'], 'pool-error': '', txn: {} }]
    : [
        404,
        {
          message:
            'could not find the transaction in the transaction pool or in the last 1000 confirmed rounds',
        },
      ]
}

server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => ready(server.address().port))
