import { describe, expect, it } from 'vitest'
import { BoundedBuffer, collected } from '../../src/app/charge/stream-from-handler.js'

const HEAD = { status: 200, headers: {}, body: '' } as const

describe('the bytes that are kept of a stream', () => {
  it('are all of its chunks in order, whatever their number and sizes', () => {
    const sizes = [1, 0, 4_095, 1, 9_000, 70_000, 3]
    const chunks = sizes.map((size, at) => new Uint8Array(size).fill(at + 1))
    const kept = new BoundedBuffer(100_000)
    for (const chunk of chunks) expect(kept.add(chunk)).toBe(true)
    for (const chunk of chunks) chunk.fill(0)
    const whole = Buffer.concat(sizes.map((size, at) => Buffer.alloc(size, at + 1)))
    expect(Buffer.compare(kept.bytes!, whole)).toBe(0)
  })

  it('are none above the bound, and all of them at it', () => {
    const kept = new BoundedBuffer(3)
    expect([kept.add(Buffer.from('ab')), kept.add(Buffer.from('c'))]).toEqual([true, true])
    expect(String(kept.bytes)).toBe('abc')
    expect([kept.add(Buffer.from('d')), kept.add(new Uint8Array())]).toEqual([false, false])
    expect(kept.bytes).toBeUndefined()
    expect(String(new BoundedBuffer(0).bytes)).toBe('')
  })
})

it('a stream that is collected ends its source where its signal aborts, and asks it for nothing more', async () => {
  const cutting = new AbortController()
  const seen = { asked: 0, isEnded: false }
  const source = {
    async next() {
      if (++seen.asked === 3) cutting.abort(new Error('cut'))
      return { done: false, bytes: Buffer.from('x') }
    },
    end() {
      seen.isEnded = true
    },
  }
  await expect(collected({ answer: HEAD, source }, cutting.signal, 100)).rejects.toThrow('cut')
  await expect(collected({ answer: HEAD, source }, cutting.signal, 100)).rejects.toThrow('cut')
  expect(seen).toEqual({ asked: 3, isEnded: true })
})
