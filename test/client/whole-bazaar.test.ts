/** Reading all pages of an index: of honest ones all, and of hostile ones no more than the bounds. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { listWholeBazaar } from '../../src/index.js'

const entry = (name: string | number, more: object = {}) => ({
  resource: `https://a.example/${name}`,
  accepts: [{ network: 'algorand:x', amount: '1' }],
  ...more,
})
const entries = (count: number, from = 0) => Array.from({ length: count }, (_, at) => entry(from + at))

type Page = (start: { offset: number; limit: number; cursor: string | null; at: number }) => unknown

/** An index that answers each page so, and what it was asked. */
function index(page: Page) {
  const asked: string[] = []
  const fetchImpl = (async (input: unknown) => {
    const { search, searchParams } = new URL(String(input))
    asked.push(search)
    const [offset, limit] = ['offset', 'limit'].map(name => Number(searchParams.get(name))) as [
      number,
      number,
    ]
    const body = page({ offset, limit, cursor: searchParams.get('cursor'), at: asked.length })
    return body instanceof Response ? body : Response.json(body)
  }) as typeof fetch
  return { asked, options: { facilitatorUrl: 'https://facilitator.example', fetchImpl } }
}

async function read(page: Page, limit?: number) {
  const { asked, options } = index(page)
  const answer = await listWholeBazaar({ ...options, ...(limit && { limit }) })
  const names = answer.ok ? answer.resources.map(({ resourceUrl }) => resourceUrl.slice(18)) : []
  return { answer, asked, names }
}

const names = (count: number) => Array.from({ length: count }, (_, at) => String(at))

describe('an index is read to its end', () => {
  const all = entries(7)

  it('by its total', async () => {
    const counted: Page = ({ offset, limit }) => ({
      items: all.slice(offset, offset + limit),
      pagination: { limit, offset, total: 7 },
    })
    const { answer, asked, names: read7 } = await read(counted, 3)
    expect(answer).toMatchObject({ ok: true, complete: true })
    expect(answer).not.toHaveProperty('stopped')
    expect(read7).toEqual(names(7))
    expect(asked).toEqual(['?limit=3&offset=0', '?limit=3&offset=3', '?limit=3&offset=6'])
  })

  it('by an empty page, where pages are shorter than they were asked to be and nothing is counted', async () => {
    const {
      answer,
      asked,
      names: found,
    } = await read(({ offset }) => ({ resources: all.slice(offset, offset + 2) }))
    expect([answer, found]).toMatchObject([{ complete: true }, names(7)])
    expect(asked.at(-1)).toBe('?limit=100&offset=7')
  })

  it.each(['cursor', 'nextCursor'])('by its %s, which is sent back as it came', async name => {
    const paged: Page = ({ cursor }) => {
      const from = cursor === null ? 0 : Number(cursor.slice(5))
      const next = from + 3 < 7 ? { [name]: `a&=+ ${from + 3}` } : {}
      return { items: all.slice(from, from + 3), pagination: next }
    }
    const { answer, asked, names: found } = await read(paged)
    expect([answer, found]).toMatchObject([{ complete: true }, names(7)])
    expect(asked[1]).toBe(`?limit=100&cursor=${encodeURIComponent('a&=+ 3')}`)
  })

  it('past entries that lead nowhere, which count for the offset', async () => {
    const mixed = [...entries(2), null, 5, {}, ...entries(2, 2)]
    const { names: found } = await read(({ offset }) => ({ items: mixed.slice(offset, offset + 2) }))
    expect(found).toEqual(names(4))
  })

  it('once each, also where entries move between two pages', async () => {
    const moved: Page = ({ at }) => ({ items: at === 1 ? entries(3) : at === 2 ? entries(3, 2) : [] })
    const { answer, names: found } = await read(moved)
    expect([answer, found]).toMatchObject([{ complete: true }, names(5)])
  })

  it('with an entry of each method and each way to pay', async () => {
    const ways = [
      entry('a', { method: 'GET' }),
      entry('a', { method: 'POST' }),
      entry('a', { accepts: [{ amount: '2' }] }),
    ]
    const { names: found } = await read(({ offset }) => ({ items: ways.slice(offset) }))
    expect(found).toEqual(['a', 'a', 'a'])
  })
})

describe('a hostile index', () => {
  const stopped = (why: RegExp) => ({ ok: true, complete: false, stopped: expect.stringMatching(why) })

  it('that answers the same page for ever is left after the second', async () => {
    const { answer, asked } = await read(() => ({ items: entries(5) }))
    expect(answer).toMatchObject(stopped(/page 2 repeats/))
    expect(asked).toHaveLength(2)
  })

  it('whose cursors go in a circle is left', async () => {
    const { answer, asked } = await read(({ at }) => ({
      items: entries(1, at),
      pagination: { cursor: `c${at % 3}` },
    }))
    expect(answer).toMatchObject(stopped(/leads back/))
    expect(asked).toHaveLength(4)
  })

  it.each([
    ['too long to be one', 'x'.repeat(2_000)],
    ['half a character', '\ud800'],
  ])('whose cursor is %s is read by its offset', async (_, cursor) => {
    const { asked } = await read(({ at, offset }) => ({
      items: at === 1 ? entries(1, offset) : [],
      pagination: { cursor },
    }))
    expect(asked).toEqual(['?limit=100&offset=0', '?limit=100&offset=1'])
  })

  it('of ever new pages is left at a bound', async () => {
    const { answer, asked } = await read(({ offset }) => ({
      items: entries(1, offset),
      pagination: { total: 1e15 },
    }))
    expect(answer).toMatchObject(stopped(/more than 500 pages/))
    expect(asked).toHaveLength(500)
  })

  it('of ever new entries, or of large ones, is left at a bound', async () => {
    const many = await read(({ offset }) => ({ items: entries(5_000, offset) }))
    expect(many.answer).toMatchObject(stopped(/larger than 20000 entries/))
    const large = await read(({ at }) => ({ items: [entry(at, { description: 'x'.repeat(15e6) })] }))
    expect(large.answer).toMatchObject(stopped(/or 64 MiB/))
    expect(large.asked.length).toBeLessThan(6)
  })

  it('of entries that nobody can read is left', async () => {
    const { answer, asked } = await read(() => ({ items: [null, 5] }))
    expect(answer).toMatchObject(stopped(/10 pages in a row/))
    expect(asked).toHaveLength(10)
  })

  it('that fails on the way says so, and what came before is kept', async () => {
    const { answer } = await read(({ at }) =>
      at < 3 ? { items: entries(2, at * 2) } : new Response('', { status: 500 }),
    )
    expect(answer).toMatchObject({ ...stopped(/^page 3: .*answered 500$/), resources: [{}, {}, {}, {}] })
    const none = await read(() => new Response('', { status: 500 }))
    expect(none.answer).toEqual({ ok: false, error: 'https://facilitator.example answered 500' })
  })

  it('never makes the reader throw', async () => {
    const deep = `{"items":[${JSON.stringify(entry('deep')).replace('"algorand:x"', `${'['.repeat(1e5)}${']'.repeat(1e5)}`)}]}`
    expect((await read(() => new Response(deep))).answer.ok).toBe(true)
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.jsonValue(), async (items, pagination) => {
        for (const body of [items, { items, pagination }, { items: [entry(1)], pagination }]) {
          const { answer, asked } = await read(() => body)
          expect(typeof answer.ok).toBe('boolean')
          expect(asked.length).toBeLessThan(12)
        }
      }),
      { numRuns: 100 },
    )
  })
})
