/** What `deploy/nginx.conf` promises, held to the code behind it. nginx itself is not run here. */
import { maxHeaderSize } from 'node:http'
import { expect, it } from 'vitest'
import { DEFAULT_BUDGETS } from '../../src/app/charge/world.js'
import { DEFAULT_BODY_BYTES_MAX } from '../../src/app/options.js'
import { TIMEOUT_MAX_MS } from '../../src/domain/endpoint.js'
import { nginxConf } from './nginx-conf.js'

const UNITS: Readonly<Record<string, number>> = { k: 1024, m: 1024 ** 2, s: 1_000 }
const measure = (text: string) => Number.parseInt(text, 10) * UNITS[text.at(-1)!]!

it('waits longer than the longest call may take', () => {
  const { priceMs, verifyMs, certaintyMs } = DEFAULT_BUDGETS
  const longestMs = priceMs + verifyMs + TIMEOUT_MAX_MS + certaintyMs
  expect(measure(nginxConf.one('proxy_read_timeout'))).toBeGreaterThan(longestMs)
  expect(measure(nginxConf.one('worker_shutdown_timeout'))).toBeGreaterThan(longestMs)
})

it('sends a request to one replica, and hangs up on it when its caller does', () => {
  expect(nginxConf.one('proxy_next_upstream')).toBe('off')
  expect(nginxConf.one('proxy_ignore_client_abort')).toBe('off')
  expect(nginxConf.one('proxy_buffering')).toBe('off')
})

it('passes on whatever headers and bodies the agent reads', () => {
  const [, largest] = nginxConf.one('large_client_header_buffers').split(' ')
  expect(measure(largest!)).toBeGreaterThanOrEqual(maxHeaderSize)
  expect(measure(nginxConf.one('proxy_buffer_size'))).toBeGreaterThanOrEqual(maxHeaderSize)
  expect(measure(nginxConf.one('client_max_body_size'))).toBeGreaterThan(DEFAULT_BODY_BYTES_MAX)
})

it('says itself who is calling, and by which name', () => {
  expect(Object.fromEntries(nginxConf.all('proxy_set_header').map(header => header.split(' ')))).toEqual({
    Host: '$host$public_port',
    'X-Forwarded-Host': '$host$public_port',
    'X-Forwarded-Proto': '$scheme',
    'X-Forwarded-For': '$remote_addr',
    'X-Real-IP': "''",
    Forwarded: "''",
  })
})

it('shows strangers neither metrics nor anything under /_svc/', () => {
  const kept = new RegExp(/location ~ (\S+) \{\s*return 404;/.exec(nginxConf.text)![1]!)
  const paths = ['/metrics', '/_svc/runs', '/_svc/audit', '/_svc/audit/events']
  for (const path of paths.flatMap(path => [path, `/api${path}`])) expect(path).toMatch(kept)
  for (const path of ['/health', '/ready', '/api/summarize', '/mcp']) expect(path).not.toMatch(kept)
})

it('speaks of its own failures in the JSON of all others, and never says "not charged" of a payment that it passed on', () => {
  const said = [...nginxConf.text.matchAll(/'(\{"error".*\})'/g)].map(([, json]) => JSON.parse(json!).error)
  expect(said.map(({ code }) => code)).toEqual([
    'bad_gateway',
    'settlement_unknown',
    'body_too_large',
    'headers_too_large',
  ])
  for (const { message } of said.slice(0, 2)) expect(message).not.toContain('not charged')
})
