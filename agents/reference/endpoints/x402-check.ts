import { defineEndpoint, type EndpointDef } from '../../../src/index.js'
import { CHECKS_SCHEMA } from '../checks.js'
import type { Sources } from '../sources.js'
import { x402Report } from '../x402-check.js'
import { text } from './schemas.js'

export function x402CheckEndpoint(sources: Sources): EndpointDef {
  return defineEndpoint({
    name: 'x402-check',
    description: 'Checks that an x402 endpoint can be found and paid, and says what to do where it cannot',
    price: '$0.02',
    tags: ['x402', 'verification'],
    input: {
      type: 'object',
      examples: [{ url: 'https://agent.example/api/summarize', method: 'POST', body: { text: 'One. Two.' } }],
      required: ['url'],
      properties: {
        url: { type: 'string', minLength: 1, maxLength: 2_048, description: 'A public http or https URL' },
        method: { type: 'string', enum: ['GET', 'POST'], default: 'POST' },
        body: { type: 'object', description: 'Sent as JSON with a POST; without one, the price is probed' },
      },
    },
    output: OUTPUT,
    handler: ({ body, signal }) => x402Report(body, sources, signal),
  })
}

const OUTPUT = {
  type: 'object',
  required: ['url', 'method', 'status', 'ok', 'checks', 'usd', 'accepted'],
  properties: {
    url: text('As it was asked for'),
    method: { type: 'string', enum: ['GET', 'POST'] },
    status: { type: ['integer', 'null'], description: 'Of its answer; null where there was none' },
    ok: { type: 'boolean', description: 'Whether every check passed' },
    checks: CHECKS_SCHEMA,
    usd: { type: ['number', 'null'], description: 'What it asks for' },
    accepted: {
      type: ['object', 'null'],
      description: 'The way to pay that a payer in USDC on Algorand would take',
      required: ['scheme', 'network', 'amount', 'asset', 'payTo'],
      properties: {
        scheme: text('exact'),
        network: text('CAIP-2'),
        amount: text('Base units'),
        asset: text('Asset id'),
        payTo: text('Who is paid'),
      },
    },
  },
} as const
