/** A server behind sellers: it answers as their handlers do, and knows nothing of payments. */
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { ready, work } from './child.mjs'

const server = createServer(async (req, res) => {
  const body = JSON.stringify(work(await json(req)))
  res.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
  res.end(body)
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => ready(server.address().port))
