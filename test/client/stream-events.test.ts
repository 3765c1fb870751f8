/** Server-sent events out of bytes, however they are cut. */
import { describe, expect, it } from 'vitest'
import { eventsIn, type StreamEvent } from '../../src/app/client/read-streamed-answer.js'

const tooLarge = (charactersMax: number) => new Error(`more than ${charactersMax}`)

/** A body of these pieces, and whether its reader has left it. */
function bodyOf(pieces: readonly (string | Uint8Array)[], isOpen = false) {
  const left = pieces.map(piece => (typeof piece === 'string' ? Buffer.from(piece) : piece))
  const seen = { isLeft: false }
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = left.shift()
      if (piece) controller.enqueue(piece)
      else if (!isOpen) controller.close()
    },
    cancel() {
      seen.isLeft = true
    },
  })
  return { body, seen }
}

async function read(...pieces: readonly (string | Uint8Array)[]): Promise<StreamEvent[]> {
  const found: StreamEvent[] = []
  for await (const event of eventsIn(bodyOf(pieces).body, tooLarge)) found.push(event)
  return found
}

describe('events', () => {
  // The first four are the examples of the HTML standard, section 9.2.6.
  it.each<[string, string, StreamEvent[]]>([
    ['of several lines', 'data: YHOO\ndata: +2\ndata: 10\n\n', [{ data: 'YHOO\n+2\n10' }]],
    [
      'with comments and ids',
      ': test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n',
      [{ data: 'first event', id: '1' }, { data: 'second event', id: '' }, { data: ' third event' }],
    ],
    [
      'without text, and one that is unfinished',
      'data\n\ndata\ndata\n\ndata:',
      [{ data: '' }, { data: '\n' }],
    ],
    ['with and without a space', 'data:test\n\ndata: test\n\n', [{ data: 'test' }, { data: 'test' }]],
    ['with types', 'event: delta\ndata: a\n\ndata: b\n\n', [{ event: 'delta', data: 'a' }, { data: 'b' }]],
    ['without data', 'event: ping\nid: 7\n\nretry: 5\nother: x\n\n', []],
    ['that end in CR', 'data: a\rdata: b\r\rdata: c\r\r', [{ data: 'a\nb' }, { data: 'c' }]],
    ['that end in CRLF', 'data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n', [{ data: 'a\nb' }, { data: 'c' }]],
    ['that are not ASCII, after a byte order mark', '\ufeffdata: „ä€😀“\n\n', [{ data: '„ä€😀“' }]],
    [
      'of JSON',
      'data: {"a":1}\n\ndata: [1,\ndata: 2]\n\ndata: 4\n\ndata: "x"\n\ndata: [DONE]\n\n',
      [{ data: { a: 1 } }, { data: [1, 2] }, { data: 4 }, { data: 'x' }, { data: '[DONE]' }],
    ],
    ['whose last has no empty line', 'data: a\n\ndata: b\n', [{ data: 'a' }]],
  ])('%s are the same, wherever the bytes are cut', async (_, text, expected) => {
    const bytes = Buffer.from(text)
    expect(await read(bytes)).toEqual(expected)
    expect(await read(...Array.from(bytes, byte => Uint8Array.of(byte)))).toEqual(expected)
    for (let at = 1; at < bytes.length; at++) {
      expect(await read(bytes.subarray(0, at), new Uint8Array(), bytes.subarray(at))).toEqual(expected)
    }
  })

  it('come before the next piece does, also those that end in CR', async () => {
    for (const end of ['\n\n', '\r\r', '\r\n\r\n']) {
      const { body } = bodyOf([`data: now${end}`], true)
      expect((await eventsIn(body, tooLarge).next()).value).toEqual({ data: 'now' })
    }
  })

  it('of a reader that leaves end the connection', async () => {
    const { body, seen } = bodyOf(['data: a\n\ndata: b\n\n'], true)
    for await (const { data } of eventsIn(body, tooLarge)) {
      expect(data).toBe('a')
      break
    }
    expect(seen.isLeft).toBe(true)
  })

  it('have a largest one, after those before it', async () => {
    const piece = 'x'.repeat(1024 * 1024)
    const { body, seen } = bodyOf(['data: a\n\ndata: ', ...Array<string>(17).fill(piece)], true)
    const events = eventsIn(body, tooLarge)
    expect((await events.next()).value).toEqual({ data: 'a' })
    await expect(events.next()).rejects.toThrow('more than 16777216')
    expect(seen.isLeft).toBe(true)
  })
})
