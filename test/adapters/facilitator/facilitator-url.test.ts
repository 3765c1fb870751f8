import { expect, test } from 'vitest'
import { facilitatorUrl } from '../../../src/adapters/facilitator/facilitator-url.js'
import { x402Facilitator } from '../../../src/adapters/facilitator/x402-facilitator.js'
import { TESTNET } from '../../../src/domain/network.js'

test.each([
  'https://facilitator.example',
  'https://facilitator.example/x402/',
  'https://203.0.113.9',
  'http://localhost:4021',
  'http://sandbox.localhost',
  'http://127.0.0.1:4021',
  'http://127.9.9.9',
  'http://2130706433',
  'http://[::1]:4021',
  'http://[::ffff:10.0.0.1]',
  'http://10.1.2.3',
  'http://172.16.0.1',
  'http://172.31.255.255',
  'http://192.168.1.1',
  'http://[fd12:3456::1]',
  'http://facilitator',
  'http://facilitator:8080/base',
  'http://facilitator.prod.internal',
])('%s may be sent payments', url => {
  expect(facilitatorUrl(url).href).toBe(new URL(url).href)
})

test.each([
  '',
  'facilitator.example',
  '/relative',
  'ftp://facilitator.example',
  'file:///etc/passwd',
  'javascript:alert(1)',
  'http://facilitator.example',
  'http://203.0.113.9',
  'http://172.32.0.1',
  'http://172.15.0.1',
  'http://192.169.0.1',
  'http://11.0.0.1',
  'http://[2001:db8::1]',
  'http://[::ffff:203.0.113.9]',
  'http://10.0.0.1.example',
  'http://localhost.example',
  'http://internal.example',
  'http://notinternal.',
  'https://user:secret@facilitator.example',
  'https://facilitator.example?key=1',
  'https://facilitator.example#x',
])('%s is refused', url => {
  expect(() => facilitatorUrl(url)).toThrow(expect.objectContaining({ code: 'invalid_facilitator' }))
})

test('plain http to a public host is accepted when asked for, and nothing else is', () => {
  expect(facilitatorUrl('http://facilitator.example', { allowHttp: true }).host).toBe('facilitator.example')
  expect(() => facilitatorUrl('ftp://facilitator.example', { allowHttp: true })).toThrow()
})

test('credentials in the URL are not repeated in the error', () => {
  expect(() => facilitatorUrl('https://user:secret@facilitator.example')).toThrow(
    expect.objectContaining({
      message: expect.not.stringContaining('secret'),
      detail: 'facilitator.example',
    }),
  )
})

test('the adapter is not built on a refused URL', () => {
  expect(() => x402Facilitator({ url: 'http://facilitator.example', network: TESTNET })).toThrow(/public/)
})
