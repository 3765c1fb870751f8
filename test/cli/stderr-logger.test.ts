/** The log of `svc facilitator` and `svc localnet`: whole, on one line, and harmless to a terminal. */
import { afterEach, expect, it, vi } from 'vitest'
import { columns, STDERR_LOGGER, tell } from '../../cli/output.js'

afterEach(() => vi.restoreAllMocks())

function logged(fields: object): string {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  STDERR_LOGGER.warn(fields, 'it happened')
  return write.mock.calls.map(([text]) => text).join('')
}

it.each([
  [{ cause: 'status 502', txId: 'TX' }, '(cause: status 502, txId: TX)'],
  [{ node: 'wrongNetwork' }, '(node: wrongNetwork)'],
  [{ err: new Error('no answer'), count: 3 }, '(count: 3): no answer'],
  [{ cause: 'a\u001b[2J\nb' }, '(cause: a\\u001b[2J\\u000ab)'],
  [{ err: new Error('\u001b]0;title\u0007') }, '\\u001b]0;title\\u0007'],
])('%j', (fields, text) => {
  const line = logged(fields)
  expect(line).toMatch(/^svc: it happened[ -~]*\n$/)
  expect(line).toContain(text)
})

it('a name without a value, or with an empty one of another party, has no line', () => {
  const rows = [
    ['price', '$1'],
    ['description', ''],
    ['left', undefined],
  ] as const
  expect(columns(rows)).toEqual(['price        $1'])
})

it('more rows than a call can have arguments, as books of many endpoints and days have, are told', () => {
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  const rows = Array.from({ length: 150_000 }, (_, at) => [`row ${at}`, 'told'] as const)
  tell({}, '', rows)
  tell({}, '', columns(rows))
  expect(write.mock.calls.map(([text]) => String(text).length)).toEqual([2_550_000, 2_550_000])
})
