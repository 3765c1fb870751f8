/** What `docker-compose.yml` and the `Dockerfile` promise, held to the code. No image is built here. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { SHUTDOWN_TIMEOUT_DEFAULT_MS } from '../../src/app/server/options/server-options.js'
import { startSandbox } from '../../src/sandbox.js'
import { nginxConf } from './nginx-conf.js'

interface Service {
  readonly image?: string
  readonly user?: string
  readonly command?: readonly string[]
  readonly entrypoint?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly network_mode?: string
  readonly networks?: readonly string[]
  readonly ports?: readonly string[]
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean }
  readonly stop_grace_period?: string
  readonly stop_signal?: string
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
  readonly volumes?: readonly string[]
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

const compose = parse(read('docker-compose.yml'), { merge: true })
const services: Readonly<Record<string, Service>> = compose.services
const agents = Object.values(services).filter(({ environment }) => environment?.REDIS_URL !== undefined)
const { pod, sandbox, nginx, redis } = services as Record<string, Service>
const secondsOf = (duration = '') => Number(/^(\d+)s$/.exec(duration)![1])

describe('every service', () => {
  it('runs as somebody who is not root, without capabilities, on a file system it cannot change', () => {
    for (const [name, { user = 'root', read_only, cap_drop }] of Object.entries(services)) {
      expect(user, name).not.toMatch(/^(root|0)(:|$)/)
      expect({ read_only, cap_drop }, name).toEqual({ read_only: true, cap_drop: ['ALL'] })
    }
  })

  it('is asked for its health, but for the one that does nothing', () => {
    const unasked = Object.entries(services).filter(([, { healthcheck }]) => !healthcheck?.test)
    expect(unasked).toEqual([['pod', expect.objectContaining({ healthcheck: { disable: true } })]])
  })

  it('is started without a shell in between, so that signals reach it', () => {
    for (const { command = [], entrypoint = [] } of Object.values(services)) {
      expect([command, entrypoint].every(Array.isArray)).toBe(true)
    }
  })
})

describe('Redis', () => {
  const setting = (name: string) => redis!.command![redis!.command!.indexOf(`--${name}`) + 1]

  it('keeps what it acknowledged', () => {
    expect(setting('appendonly')).toBe('yes')
    expect(setting('appendfsync')).toBe('always')
    expect(setting('maxmemory-policy')).toBe('noeviction')
    expect(redis!.volumes).toEqual(['redis:/data'])
  })

  it('is out of reach from outside', () => {
    expect(redis!.networks).toEqual(['state'])
    expect(compose.networks.state).toEqual({ internal: true })
  })
})

describe('the replicas', () => {
  it('are three on one store, paid at one address, each on a port that nginx knows', () => {
    expect(agents).toHaveLength(3)
    expect(
      new Set(agents.map(({ environment: { PORT: _, ...shared } = {} }) => JSON.stringify(shared))).size,
    ).toBe(1)
    const ports = agents.map(({ environment }) => environment!.PORT)
    expect(nginxConf.all('server').flatMap(server => /^127\.0\.0\.1:(\d+) /.exec(server)?.[1] ?? [])).toEqual(
      ports,
    )
  })

  it('are given time to drain, and nginx time to wait for them', () => {
    // Grace for what is cut, the last answers, and webhooks: see src/serve.ts and drain.ts.
    const drainMs = SHUTDOWN_TIMEOUT_DEFAULT_MS + 2_000 + 10_000 + 5_000
    for (const { stop_grace_period } of agents) {
      expect(secondsOf(stop_grace_period) * 1_000).toBeGreaterThan(drainMs)
      expect(secondsOf(nginx!.stop_grace_period)).toBeGreaterThan(secondsOf(stop_grace_period))
    }
    expect(nginx!.stop_signal).toBe('SIGQUIT')
  })

  it('reach the sandbox on the loopback interface that they share with it', async () => {
    for (const { network_mode } of [...agents, sandbox!, nginx!]) expect(network_mode).toBe('service:pod')
    const port = sandbox!.command!.at(-1)
    expect(sandbox!.command).toEqual(['node', 'dist/cli/main.js', 'sandbox', '--port', port])
    expect(agents[0]!.environment).toMatchObject({
      SVC_SANDBOX: `http://127.0.0.1:${port}`,
      SVC_NETWORK: 'testnet',
    })
    const { seller, close } = await startSandbox()
    await close()
    expect(agents[0]!.environment!.SVC_PAY_TO).toBe(seller.address)
  })
})

it('nothing is published but the port on which nginx listens, and that to this machine only', () => {
  const published = Object.values(services).flatMap(({ ports = [] }) => ports)
  const [listen] = new Set(nginxConf.all('listen').map(value => value.split(' ')[0]))
  expect(published).toEqual([`127.0.0.1:${listen}:${listen}`])
  expect(pod!.ports).toEqual(published)
  expect(nginx!.volumes).toEqual(['./deploy/nginx.conf:/etc/nginx/nginx.conf:ro'])
})

describe('the image', () => {
  const stages = read('Dockerfile')
    .split(/^FROM /m)
    .slice(1)
  const instructions = stages.map(stage => stage.split('\n').filter(line => /^[A-Z]+ /.test(line)))
  const last = instructions.at(-1)!
  const argumentsOf = (name: string) =>
    last.filter(line => line.startsWith(`${name} `)).map(line => line.slice(name.length + 1))

  it('is built in stages, and the last has no compiler in it', () => {
    expect(stages.length).toBeGreaterThan(1)
    expect(last.some(line => line.startsWith('RUN '))).toBe(false)
    expect(instructions[0]!.at(-1)).toContain('npm prune --omit=dev')
  })

  it('runs node itself as a user by number, and says how to ask for its health', () => {
    const [user] = argumentsOf('USER')
    expect(user).toMatch(/^[1-9]\d*:[1-9]\d*$/)
    expect(JSON.parse(argumentsOf('CMD')[0]!)).toEqual(['node', 'dist/agents/reference/start.js'])
    const [health] = argumentsOf('HEALTHCHECK')
    expect(JSON.parse(/CMD (\[.*\])$/.exec(health!)![1]!)).toEqual(['node', 'deploy/probe.mjs', '/health'])
  })

  it('is made of files that exist and that .dockerignore lets through, and of nothing else', () => {
    const [first, ...allowed] = read('.dockerignore')
      .split('\n')
      .filter(line => line !== '' && !line.startsWith('#'))
    expect(first).toBe('*')
    const copied = instructions.flat().flatMap(line => {
      const words = line.split(' ')
      return words[0] === 'COPY' && !words[1]!.startsWith('--from') ? words.slice(1, -1) : []
    })
    expect(copied.filter(path => !existsSync(join(ROOT, path)))).toEqual([])
    expect([...new Set(copied)].map(path => `!${path}`).sort()).toEqual(allowed.sort())
  })
})
