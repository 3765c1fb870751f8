/** Strangers name the URL: it must lead to the public internet, and take little of ours. */
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { type RefusedReason, safeFetch } from '../../agents/reference/safe-fetch.js'
import { isPublicAddress, type Lookup } from '../../src/adapters/outbound/guarded-fetch.js'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

async function listening(listener: RequestListener): Promise<number> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  servers.push(server)
  await new Promise(resolve => server.once('listening', resolve))
  return (server.address() as AddressInfo).port
}

const GET = { method: 'GET' } as const
/** The one address that is somebody else's, to these tests. */
const isAllowed = (address: string) => address === '127.0.0.1'
const refusedFor = (reason: RefusedReason) => expect.objectContaining({ reason })

/** Names resolve to what the test says, one answer after the other. */
function resolving(...answers: readonly (readonly string[])[]): Lookup & { asked: string[] } {
  const asked: string[] = []
  const lookup: Lookup = (hostname, _, callback) => {
    const addresses = answers[Math.min(asked.length, answers.length - 1)]!
    asked.push(hostname)
    callback(
      null,
      addresses.map(address => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  }
  return Object.assign(lookup, { asked })
}

describe('addresses', () => {
  const inside = [
    '0.0.0.0',
    '10.0.0.1',
    '100.64.0.1',
    '100.127.255.255',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.8',
    '192.0.2.1',
    '192.88.99.1',
    '192.168.1.1',
    '198.18.0.1',
    '198.19.255.255',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '239.255.255.255',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::7f00:1',
    '::ffff:127.0.0.1',
    '::ffff:10.0.0.1',
    '::ffff:8.8.8.8',
    '64:ff9b::7f00:1',
    '64:ff9b::a9fe:a9fe',
    '64:ff9b:1::1',
    '100::1',
    '2001::1',
    '2001:0:4136:e378:8000:63bf:3fff:fdd2',
    '2001:2::1',
    '2001:10::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '2002:a9fe:a9fe::1',
    '2620:4f:8000::1',
    '3fff::1',
    '4000::1',
    '5f00::1',
    'fc00::1',
    'fd12:3456:789a::1',
    'fe80::1',
    'fe80::1%lo',
    '2600::1%eth0',
    'fec0::1',
    'ff02::1',
    'localhost',
    '',
    '1',
    '127.1',
  ]
  for (const address of inside) {
    it(`${address || 'nothing'} is not public`, () => expect(isPublicAddress(address)).toBe(false))
  }

  for (const address of [
    '1.1.1.1',
    '8.8.8.8',
    '100.63.255.255',
    '100.128.0.1',
    '172.15.0.1',
    '172.32.0.1',
    '192.0.1.1',
    '223.255.255.255',
    '2001:4860:4860::8888',
    '2606:4700::1111',
    '2a00:1450::1',
  ]) {
    it(`${address} is public`, () => expect(isPublicAddress(address)).toBe(true))
  }
})

describe('a hostile URL', () => {
  const urls: readonly (readonly [RefusedReason, string])[] = [
    ['url', ''],
    ['url', '/etc/passwd'],
    ['url', 'file:///etc/passwd'],
    ['url', 'ftp://8.8.8.8/'],
    ['url', 'gopher://127.0.0.1:6379/_FLUSHALL'],
    ['url', 'data:application/json,{}'],
    ['url', 'javascript:alert(1)'],
    ['url', 'ws://example.com/'],
    ['url', 'unix:///var/run/docker.sock'],
    ['url', 'http://user:password@example.com/'],
    ['url', 'https://user@example.com/'],
    ['url', 'http://[::1'],
    ['address', 'http://127.0.0.1/'],
    ['address', 'http://127.1/'],
    ['address', 'http://2130706433/'],
    ['address', 'http://0x7f.0.0.1/'],
    ['address', 'http://0177.0.0.1/'],
    ['address', 'http://0/'],
    ['address', 'http://127.0.0.1./'],
    ['address', 'http://①②⑦.0.0.1/'],
    ['address', 'http://169.254.169.254/latest/meta-data/'],
    ['address', 'http://[::1]/'],
    ['address', 'http://[::ffff:127.0.0.1]/'],
    ['address', 'http://[::ffff:a9fe:a9fe]/'],
    ['address', 'http://[64:ff9b::7f00:1]/'],
    ['address', 'http://[2002:7f00:1::]/'],
    ['address', 'http://[fe80::1]/'],
    ['address', 'http://[fd00:ec2::254]/'],
    ['address', 'http://localhost/'],
    ['address', 'https://localhost/'],
    ['address', 'http://LOCALHOST:8080/'],
    ['port', 'http://8.8.8.8:22/'],
    ['port', 'http://8.8.8.8:25/'],
    ['port', 'https://8.8.8.8:993/'],
  ]
  for (const [reason, url] of urls) {
    it(`${JSON.stringify(url)} is refused for its ${reason}`, async () => {
      await expect(safeFetch()(url, GET)).rejects.toEqual(refusedFor(reason))
    })
  }
})

describe('a name', () => {
  for (const [what, answer] of [
    ['the inside', ['10.0.0.1']],
    ['the inside among public addresses', ['8.8.8.8', '127.0.0.1']],
    ['the inside, mapped into IPv6', ['::ffff:10.0.0.1']],
    ['nothing', []],
  ] as const) {
    it(`that resolves to ${what} is refused`, async () => {
      const lookup = resolving(answer)
      const port = await listening((_, response) => response.end('inside'))
      const fetched = safeFetch({ lookup })(`http://rebind.example:${port}/`, GET)
      await expect(fetched).rejects.toEqual(refusedFor('address'))
      expect(lookup.asked).toEqual(['rebind.example'])
    })
  }

  it('is looked up once for a connection: a second answer cannot be another address', async () => {
    const lookup = resolving(['127.0.0.1'], ['8.8.8.8'])
    const port = await listening((_, response) => response.end('inside'))
    const fetched = safeFetch({ lookup })(`http://rebind.example:${port}/`, GET)
    await expect(fetched).rejects.toEqual(refusedFor('address'))
    expect(lookup.asked).toHaveLength(1)
  })
})

describe('a redirect', () => {
  it('is followed a few times, carrying what was sent only where it says so', async () => {
    const seen: string[] = []
    const port = await listening((request, response) => {
      seen.push(`${request.method} ${request.url}`)
      const next: Readonly<Record<string, [number, string]>> = {
        '/a': [308, '/b'],
        '/b': [307, '/c'],
        '/c': [302, '/d'],
      }
      const [status, location] = next[request.url!] ?? [200, '']
      response.writeHead(status, location ? { location } : {}).end('{}')
    })
    const fetch = safeFetch({ isAllowed })
    const answer = await fetch(`http://127.0.0.1:${port}/a#part`, { method: 'POST', body: '{}' })
    expect(seen).toEqual(['POST /a', 'POST /b', 'POST /c', 'GET /d'])
    expect(answer.status).toBe(200)
    expect(answer.url.pathname).toBe('/d')
    expect(answer.redirects).toHaveLength(3)
  })

  it('is not followed for ever', async () => {
    let asked = 0
    const port = await listening((_, response) => {
      asked++
      response.writeHead(302, { location: `/${asked}` }).end()
    })
    const fetched = safeFetch({ isAllowed })(`http://127.0.0.1:${port}/`, GET)
    await expect(fetched).rejects.toEqual(refusedFor('redirects'))
    expect(asked).toBe(4)
  })

  for (const host of [
    '127.0.0.2',
    '10.0.0.1',
    '169.254.169.254',
    '[::1]',
    '[::ffff:127.0.0.1]',
    'localhost',
  ]) {
    it(`to ${host} is refused, and nobody asked there`, async () => {
      let asked = 0
      const port = await listening((_, response) => {
        asked++
        response.writeHead(307, { location: `http://${host}:${port}/` }).end()
      })
      const lookup = resolving(['127.0.0.1', '::1'])
      const fetched = safeFetch({ isAllowed, lookup })(`http://127.0.0.1:${port}/`, {
        method: 'POST',
        body: '{}',
      })
      await expect(fetched).rejects.toEqual(refusedFor('address'))
      expect(asked).toBe(1)
    })
  }

  it('to its own name is looked up anew, and refused once the name leads inside', async () => {
    const lookup = resolving(['127.0.0.1'], ['127.0.0.2'])
    let asked = 0
    const port = await listening((_, response) => {
      asked++
      response.writeHead(302, { location: '/again', connection: 'close' }).end()
    })
    const fetched = safeFetch({ isAllowed, lookup })(`http://rebind.example:${port}/`, GET)
    await expect(fetched).rejects.toEqual(refusedFor('address'))
    expect(lookup.asked).toEqual(['rebind.example', 'rebind.example'])
    expect(asked).toBe(1)
  })

  for (const location of ['file:///etc/passwd', 'http://user:secret@8.8.8.8/', 'javascript:0', 'http://[']) {
    it(`to ${location} is refused`, async () => {
      const port = await listening((_, response) => response.writeHead(302, { location }).end())
      const fetched = safeFetch({ isAllowed })(`http://127.0.0.1:${port}/`, GET)
      await expect(fetched).rejects.toEqual(refusedFor('url'))
    })
  }
})

describe('an answer', () => {
  it('larger than allowed is given up, whether it says so or not', async () => {
    let written = 0
    const port = await listening((request, response) => {
      if (request.url === '/said') response.setHeader('content-length', 10_000_000)
      const chunk = Buffer.alloc(65_536)
      const write = () => {
        while (!response.destroyed && written < 100_000_000) {
          written += chunk.length
          if (!response.write(chunk)) return response.once('drain', write)
        }
      }
      write()
    })
    for (const path of ['/said', '/unsaid']) {
      written = 0
      const fetched = safeFetch({ isAllowed, bodyBytesMax: 100_000 })(`http://127.0.0.1:${port}${path}`, GET)
      await expect(fetched).rejects.toEqual(refusedFor('size'))
      expect(written).toBeLessThan(50_000_000)
    }
  })

  it('that is compressed stays so', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000))
    const port = await listening((_, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
    )
    const { bytes } = await safeFetch({ isAllowed })(`http://127.0.0.1:${port}/`, GET)
    expect(bytes.length).toBe(bomb.length)
  })

  it('with more headers than allowed is given up', async () => {
    const port = await listening((_, response) => response.writeHead(200, { a: 'x'.repeat(40_000) }).end())
    const fetched = safeFetch({ isAllowed })(`http://127.0.0.1:${port}/`, GET)
    await expect(fetched).rejects.toEqual(refusedFor('silence'))
  })

  for (const [what, listener] of [
    ['silent', () => {}],
    ['a byte at a time', (_, response) => void setInterval(() => response.write('x'), 20).unref()],
    [
      'a redirect at a time',
      (_, response) => void setTimeout(() => response.writeHead(302, { location: '/' }).end(), 80).unref(),
    ],
  ] as readonly (readonly [string, RequestListener])[]) {
    it(`that is ${what} is given up in time`, async () => {
      const port = await listening(listener)
      const fetch = safeFetch({ isAllowed, timeoutMs: 500, redirectsMax: 50 })
      await expect(fetch(`http://127.0.0.1:${port}/`, GET)).rejects.toEqual(refusedFor('time'))
    })
  }

  it('that is no HTTP is silence', async () => {
    const fetch = safeFetch({ isAllowed })
    const port = await listening(request => void request.socket.end('SSH-2.0-OpenSSH\r\n'))
    await expect(fetch(`http://127.0.0.1:${port}/`, GET)).rejects.toEqual(refusedFor('silence'))
    await new Promise(resolve => servers.pop()!.close(resolve))
    await expect(fetch(`http://127.0.0.1:${port}/`, GET)).rejects.toEqual(refusedFor('silence'))
  })
})

describe('a request', () => {
  it('carries what it was told and nothing of ours', async () => {
    let headers: Record<string, unknown> = {}
    const port = await listening((request, response) => {
      headers = request.headers
      response.end()
    })
    await safeFetch({ isAllowed })(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{}' })
    expect(Object.keys(headers).sort()).toEqual([
      'accept',
      'connection',
      'content-length',
      'content-type',
      'host',
      'user-agent',
    ])
  })

  it('ends when its caller does', async () => {
    const port = await listening(() => {})
    const stop = new AbortController()
    const fetched = safeFetch({ isAllowed })(`http://127.0.0.1:${port}/`, {
      ...GET,
      signal: stop.signal,
    })
    stop.abort(new Error('the caller is gone'))
    await expect(fetched).rejects.toThrow('the caller is gone')
  })
})
