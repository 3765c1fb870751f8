/** `deploy/probe.mjs`, by which containers are asked for their health. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const PROBE = fileURLToPath(new URL('../../deploy/probe.mjs', import.meta.url))

async function probe(target: string, port: number): Promise<number> {
  const env = { ...process.env, PORT: String(port) }
  const [code] = await once(spawn(process.execPath, [PROBE, target], { env }), 'exit')
  return code
}

it('exits 0 for good news, and 1 for bad news and for none', async () => {
  const server = createServer(({ url }, response) => response.writeHead(url === '/ready' ? 200 : 503).end())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  expect(await probe('/ready', port)).toBe(0)
  expect(await probe(`http://127.0.0.1:${port}/ready`, 1)).toBe(0)
  expect(await probe('/health', port)).toBe(1)
  server.close()
  await once(server, 'close')
  expect(await probe('/ready', port)).toBe(1)
})
