/** What `deploy/nginx.conf` promises, held to the code behind it. nginx itself is run in nginx.run.test.ts. */
import { maxHeaderSize } from 'node:http'
import { expect, it } from 'vitest'
import { DEFAULT_TIMEOUTS } from '../../src/app/charge/charge-deps.js'
import { DEFAULT_BODY_BYTES_MAX } from '../../src/app/server/options/server-options.js'
import { TIMEOUT_MAX_MS } from '../../src/domain/endpoint.js'
import { nginxConf } from './nginx-conf.js'

const UNITS: Readonly<Record<string, number>> = { k: 1024, m: 1024 ** 2, s: 1_000 }
const measure = (text: string) => Number.parseInt(text, 10) * UNITS[text.at(-1)!]!

/** 128 blocks, eight at once, two seconds each, and the questions before and after. */
const LOOKUP_MAX_MS = 40_000
/** Limits, moves, a window, rounds: ten questions of two seconds. */
const STORES_AND_NODE_MS = 20_000

it('waits longer than the longest call may take', () => {
  const { priceMs, verifyMs, creditMs, settleMs, certaintyMs } = DEFAULT_TIMEOUTS
  const recoveringMs = settleMs + LOOKUP_MAX_MS
  const longestMs =
    recoveringMs + priceMs + verifyMs + creditMs + TIMEOUT_MAX_MS + certaintyMs + STORES_AND_NODE_MS
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
  expect(measure(nginxConf.one('client_max_body_size'))).toBe(DEFAULT_BODY_BYTES_MAX)
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
    'headers_too_large',
    'body_too_large',
    'headers_too_large',
  ])
  for (const { code, message } of said.filter(({ code }) => /gateway|unknown/.test(code)))
    expect(message, code).not.toContain('not charged')
})
