/** What payers send can make a facilitator, or the host before it, fail on their own payment. It stops nobody else's sale. */
import { expect, test } from 'vitest'
import { facilitatorList } from '../../../src/adapters/facilitator/failover.js'
import { json, reset, status, text } from '../../support/fake-facilitator.js'
import { newPayment, REQUIREMENTS, start } from './setup.js'

const YES = json({ isValid: true })

test.each([
  ['403 and a page', text('<html>Blocked</html>', 403, 'text/html')],
  ['413', status(413)],
  ['429', status(429)],
  ['500', status(500)],
  ['502', status(502)],
  ['a reset', reset],
])('twenty payments that end in %s do not stop the next one', async (_, fault) => {
  const { fake, facilitator } = await start({ '/verify': fault })
  const list = facilitatorList([facilitator], { quoted: { note() {}, wasQuoted: () => false } })
  for (let payment = 0; payment < 20; payment++)
    expect(await list.verify(newPayment(), REQUIREMENTS)).toMatchObject({ verdict: 'unreachable' })
  expect(fake.count('/verify')).toBe(20)
  fake.replies['/verify'] = YES
  expect(await list.verify(newPayment(), REQUIREMENTS)).toEqual({ verdict: 'valid' })
})
