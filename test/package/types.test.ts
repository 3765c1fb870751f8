/**
 * The types against which a stranger compiles: bodies follow their schemas, and the compiler ends, with `strict` and without.
 * Instantiations are what the compiler counts of its own work: the same on every machine.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))

let project: string
beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'svc-types-'))
  await writeFile(join(project, 'package.json'), '{"type":"module"}')
  await symlink(join(root, 'node_modules'), join(project, 'node_modules'))
})
afterAll(() => rm(project, { recursive: true, force: true }))

async function compiled(source: string, strict: boolean, compiler: string) {
  const compilerOptions = {
    module: 'NodeNext',
    target: 'ES2022',
    noEmit: true,
    skipLibCheck: true,
    types: ['node'],
    strict,
    paths: { '@svc/sdk': [join(root, 'dist/src/index.d.ts')] },
  }
  await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }))
  await writeFile(join(project, 'program.ts'), source)
  const { stdout } = await run(join(root, 'node_modules/.bin', compiler), [
    '-p',
    project,
    '--extendedDiagnostics',
  ]).catch(failed => failed)
  const count = /Instantiations: +(\d+)/.exec(stdout)?.[1]
  return { errors: stdout.match(/^.*error TS.*$/gm) ?? [], instantiations: Number(count) }
}

const OF_JSON = `
import { defineEndpoint } from '@svc/sdk'
export const shout = defineEndpoint({
  name: 'shout',
  price: '$0.01',
  input: { type: 'object', required: ['text'], properties: { text: { type: 'string' }, n: { type: 'integer' } } },
  handler: ({ body }) => ({ shouted: body.text.toUpperCase() }),
})
export const count = defineEndpoint({
  name: 'count',
  method: 'GET',
  price: ({ body }) => \`$\${0.01 * (body.n ?? 1)}\`,
  input: { type: 'object', properties: { n: { type: 'integer' } } },
  // @ts-expect-error: it is a number
  handler: ({ body }) => body.n.toUpperCase(),
})
`

const ANSWERS = `
import { defineEndpoint, type EndpointOptions } from '@svc/sdk'
const said = { type: 'object', required: ['said'], properties: { said: { type: 'string' }, list: { type: 'array', items: { type: 'integer' } } } } as const
interface Said { said: string; list: readonly number[] }
const own: Said = { said: 'a', list: [1] }
const named = { name: 'say', price: '$0.01', output: said } as const
const input = { type: 'object', required: ['text'], properties: { text: { type: 'string' } } } as const
export const right = [
  defineEndpoint({ ...named, handler: () => ({ said: 'a' }) }),
  defineEndpoint({ ...named, handler: () => own }),
  defineEndpoint({ ...named, handler: async () => own }),
  defineEndpoint({ ...named, input, handler: ({ body }) => ({ said: body.text, more: 1 }) }),
  defineEndpoint({ ...named, handler: () => new Response('{}') }),
  defineEndpoint({ ...named, stream: true, async *handler() { yield 1 } }),
  defineEndpoint({ name: 'any', price: '$0.01', handler: () => 1 }),
  defineEndpoint({ name: 'feed', subscription: { price: '$5', period: '30d' }, handler: () => 1 }),
]
export const wrong = [
  // @ts-expect-error: it is text
  defineEndpoint({ ...named, handler: () => ({ said: 1 }) }),
  // @ts-expect-error: it is text, also later
  defineEndpoint({ ...named, handler: async () => ({ said: 1 }) }),
  // @ts-expect-error: of another input
  defineEndpoint({ ...named, input, handler: ({ body }) => ({ said: body.text.length }) }),
  // @ts-expect-error: it is required
  defineEndpoint({ ...named, handler: () => ({}) }),
  // @ts-expect-error: calls or windows
  defineEndpoint({ ...named, subscription: { price: '$5', period: '30d' }, handler: () => own }),
  // @ts-expect-error: one of them
  defineEndpoint({ name: 'none', handler: () => 1 }),
]
export const options: EndpointOptions = { ...named, output: { type: 'string' }, handler: () => 1 }
`

for (const [compiler, strict] of [
  ['tsc6', true],
  ['tsc', true],
  ['tsc', false],
] as const)
  it(`${compiler}, strict ${strict}: answers follow their schema, and an endpoint sells calls or windows`, {
    timeout: 120_000,
  }, async () => {
    // Without strict, what is absent is assignable to what is required.
    const source = strict ? ANSWERS : ANSWERS.replace(/.*it is required\n.*\n/, '')
    const { errors, instantiations } = await compiled(source, strict, compiler)
    expect(errors).toEqual([])
    expect(instantiations).toBeLessThan(20_000)
  })

for (const compiler of ['tsc6', 'tsc'])
  for (const strict of [true, false])
    it(`${compiler}, strict ${strict}: bodies of JSON Schemas are inferred, with little work`, {
      timeout: 120_000,
    }, async () => {
      const { errors, instantiations } = await compiled(OF_JSON, strict, compiler)
      expect(errors).toEqual([])
      // It is 3800. Without strict it was 9.6 million, and an error, where handlers took part in the inference.
      expect(instantiations).toBeLessThan(10_000)
      expect(instantiations).toBeGreaterThan(1_000)
    })

const ROUTES = `
import { createGate, type HandlerContext } from '@svc/sdk'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
const gate = createGate({ name: 'Shouter', handle: 'shouter', description: 'Says things louder', payTo: 'A' })
const terms = { price: '$0.01' } as const
const payerOf = (svc?: HandlerContext) => ({ payer: svc?.payment.payer })
express().post('/shout', gate.express(terms), (req, res) => void res.json(payerOf(req.svc)))
fastify().post('/shout', gate.fastify(terms, async request => payerOf(request.raw.svc)))
new Hono<{ Variables: { svc: HandlerContext } }>().post('/shout', gate.hono(terms), c => c.json(payerOf(c.get('svc'))))
new Koa().use(gate.koa(terms)).use(ctx => void (ctx.body = payerOf(ctx.state.svc)))
// @ts-expect-error: a payment is no text
fastify().post('/shout', gate.fastify(terms, async request => request.raw.svc.length))
`

for (const compiler of ['tsc6', 'tsc'])
  it(`${compiler}: routes of each framework read the payment behind a gate`, {
    timeout: 120_000,
  }, async () => {
    expect((await compiled(ROUTES, true, compiler)).errors).toEqual([])
  })

const PROGRAMS = [
  ['schemas.ts', true],
  ['schemas.ts', false],
  ['schemas.strict.ts', true],
] as const

for (const compiler of ['tsc6', 'tsc'])
  for (const [file, strict] of PROGRAMS)
    it(`${compiler}, strict ${strict}: the bodies of ${file} are their schemas’ output`, {
      timeout: 120_000,
    }, async () => {
      const source = await readFile(join(root, 'test/package', file), 'utf8')
      const { errors, instantiations } = await compiled(source, strict, compiler)
      expect(errors).toEqual([])
      expect(instantiations).toBeLessThan(100_000)
    })
