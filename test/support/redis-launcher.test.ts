/** Where a Redis for tests comes from: REDIS_URL, a program on PATH, a container, or apt, in this order. */
import { describe, expect, it } from 'vitest'
import type { RedisBinary } from './redis-binary.js'
import { REDIS_IMAGE } from './redis-container.js'
import { type Machine, wayToRun } from './redis-launcher.js'
import { anyRedis, freePort } from './redis-server.js'

const ON_PATH: RedisBinary = { path: '/usr/bin/redis-server', env: {} }
const FROM_APT: RedisBinary = { path: '/cache/redis-check-rdb', env: {} }

/** A machine that has nothing but what is given, and what was asked of it. */
function machine(has: Partial<Machine>): Machine & { readonly asked: readonly string[] } {
  const asked: string[] = []
  const nothing: Machine = {
    binaryOnPath: () => undefined,
    dockerAnswers: async () => false,
    hasApt: () => false,
    fetchWithApt: async () => undefined,
  }
  const noted = <Key extends keyof Machine>(key: Key) =>
    (() => {
      asked.push(key)
      return (has[key] ?? nothing[key])()
    }) as Machine[Key]
  return {
    asked,
    binaryOnPath: noted('binaryOnPath'),
    dockerAnswers: noted('dockerAnswers'),
    hasApt: noted('hasApt'),
    fetchWithApt: noted('fetchWithApt'),
  }
}

const everything: Partial<Machine> = {
  binaryOnPath: () => ON_PATH,
  dockerAnswers: async () => true,
  hasApt: () => true,
  fetchWithApt: async () => FROM_APT,
}

describe('a Redis for tests', () => {
  it('is the program on PATH, and Docker is not asked for', async () => {
    const given = machine(everything)
    expect(await wayToRun(given)).toEqual({ kind: 'program', binary: ON_PATH })
    expect(given.asked).toEqual(['binaryOnPath'])
  })

  it('is a container where Docker answers and no program is on PATH, and apt is not asked for', async () => {
    const given = machine({ ...everything, binaryOnPath: () => undefined })
    expect(await wayToRun(given)).toEqual({ kind: 'container' })
    expect(given.asked).toEqual(['binaryOnPath', 'dockerAnswers'])
  })

  it('is a program from apt where there is neither', async () => {
    const given = machine({ hasApt: () => true, fetchWithApt: async () => FROM_APT })
    expect(await wayToRun(given)).toEqual({ kind: 'program', binary: FROM_APT })
  })

  it.each<[string, Partial<Machine>]>([
    ['without apt', {}],
    ['where apt has no Redis', { hasApt: () => true }],
    ['where apt fails', { hasApt: () => true, fetchWithApt: () => Promise.reject(new Error('no network')) }],
  ])('is missing with a message that says what to do: %s', async (_, has) => {
    await expect(wayToRun(machine(has))).rejects.toThrow('set REDIS_URL, put redis-server on PATH')
  })

  it('is the one that REDIS_URL names, where a test needs no server of its own', async () => {
    const start = () => Promise.reject(new Error('started'))
    const url = 'redis://redis.test:6379'
    expect((await anyRedis({ REDIS_URL: url }, start)).url).toBe(url)
    await expect(anyRedis({}, start)).rejects.toThrow('started')
  })

  it('comes as an image of one whole version', () => {
    expect(REDIS_IMAGE).toMatch(/^redis:\d+\.\d+\.\d+-alpine$/)
  })
})

it('a port for later is none that systems give to another server before, and its bus’s neither', async () => {
  for (let count = 0; count < 100; count++) expect((await freePort()) + 10_000).toBeLessThan(32_768)
})
