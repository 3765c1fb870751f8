/**
 * Koa and @koa/router, as a seller would write them: for each row the least that gives the same answer. It checks nothing, holds
 * nothing and remembers nothing; `config.header` is our own PAYMENT-REQUIRED header, byte for byte.
 */
import { Readable } from 'node:stream'
import Router from '@koa/router'
import { Ajv2020 } from 'ajv/dist/2020.js'
import Koa from 'koa'
import getRawBody from 'raw-body'
import { Pool } from 'undici'
import { config, INPUT, listen, ready, work } from './child.mjs'

const validate = new Ajv2020({ strict: false }).compile(INPUT)
const facilitator = new Pool(config.facilitatorUrl, { connections: 512 })
const upstream = config.upstream && new Pool(config.upstream, { connections: 512 })

const routes = {
  '/work': async ctx => {
    const body = await bodyOf(ctx)
    const payment = ctx.get('payment-signature')
    if (payment === '') return quote(ctx)
    const envelope = JSON.stringify(envelopeOf(payment))
    if (!(await ask('/verify', envelope)).isValid) return quote(ctx)
    const answer = work(body)
    const receipt = await ask('/settle', envelope)
    ctx.set('PAYMENT-RESPONSE', Buffer.from(JSON.stringify(receipt)).toString('base64'))
    ctx.body = answer
  },
  '/window': async ctx => {
    const body = await bodyOf(ctx)
    ctx.status = validate(body) ? 200 : 400
    ctx.body = work(body)
  },
  /** A plain proxy: what comes back leaves as it comes. */
  '/proxied': async ctx => {
    const body = await getRawBody(ctx.req, { limit: 1_048_576, length: ctx.req.headers['content-length'] })
    const headers = { 'content-type': ctx.get('content-type') }
    const answer = await upstream.request({ path: '/work', method: 'POST', headers, body })
    ctx.status = answer.statusCode
    ctx.set(answer.headers)
    ctx.body = answer.body
  },
  '/replay': async ctx => {
    const body = await bodyOf(ctx)
    ctx.set('Idempotency-Replayed', 'true')
    ctx.body = work(body)
  },
  '/stream': async ctx => {
    const body = await bodyOf(ctx)
    ctx.type = 'text/event-stream'
    ctx.body = Readable.from([`data: ${JSON.stringify(work(body))}\n\n`])
  },
  '/limited': async ctx => {
    await bodyOf(ctx)
    ctx.status = 429
    ctx.set('Retry-After', '60')
    ctx.body = { error: { code: 'rate_limited', message: 'Too many calls.' } }
  },
}

async function bodyOf(ctx) {
  const bytes = await getRawBody(ctx.req, { limit: 1_048_576, length: ctx.req.headers['content-length'] })
  return JSON.parse(bytes.toString('utf8'))
}

function quote(ctx) {
  ctx.status = 402
  ctx.set('PAYMENT-REQUIRED', config.header)
  ctx.type = 'application/json'
  ctx.body = '{}'
}

function envelopeOf(payment) {
  const paymentPayload = JSON.parse(Buffer.from(payment, 'base64').toString('utf8'))
  return { x402Version: 2, paymentPayload, paymentRequirements: paymentPayload.accepted }
}

async function ask(path, body) {
  const headers = { 'content-type': 'application/json' }
  const answer = await facilitator.request({ path, method: 'POST', headers, body })
  return answer.body.json()
}

const app = new Koa()
const router = new Router()
for (const [path, answer] of Object.entries(routes)) router.post(path, answer)
app.use(router.routes())
ready(await listen(app.callback()))
