import { defineEndpoint, type EndpointDef } from '../../../src/index.js'
import { payeeReport } from '../payee.js'
import type { Sources } from '../sources.js'
import { NETWORK_SCHEMA, text, textOrNull } from './schemas.js'

export function payeeCheckEndpoint({
  network: own,
  chains,
  facilitatorUrl,
  registries,
}: Sources): EndpointDef {
  return defineEndpoint({
    name: 'payee-check',
    description:
      'Tells whether an address exists, can receive USDC, was paid over x402, and is listed or registered',
    price: '$0.01',
    tags: ['trust'],
    timeout: 60_000,
    input: {
      type: 'object',
      // The zero address, which every network has.
      examples: [{ address: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAY5HFKQ' }],
      required: ['address'],
      properties: {
        address: { type: 'string', minLength: 58, maxLength: 58, description: 'An Algorand address' },
        network: NETWORK_SCHEMA,
      },
    },
    output: OUTPUT,
    handler: ({ body: { address, network = own } }) => {
      const registry = registries[network]
      return payeeReport(address, { chain: chains[network], facilitatorUrl, ...(registry && { registry }) })
    },
  })
}

const OUTPUT = {
  type: 'object',
  required: [
    'address',
    'network',
    'valid',
    'exists',
    'microAlgos',
    'canReceiveUsdc',
    'usdc',
    'received',
    'listed',
    'resources',
    'registered',
    'agent',
    'notes',
  ],
  properties: {
    address: text('As it was asked for'),
    network: text('CAIP-2'),
    valid: { type: 'boolean', description: 'Whether its checksum holds' },
    exists: { type: 'boolean', description: 'Whether the account holds anything' },
    microAlgos: textOrNull('ALGO, in millionths'),
    canReceiveUsdc: { type: 'boolean' },
    usdc: {
      type: ['object', 'null'],
      description: 'null where it has not opted in',
      required: ['balance', 'usd', 'frozen'],
      properties: { balance: text('Base units'), usd: text('$1.50'), frozen: { type: 'boolean' } },
    },
    received: {
      type: ['object', 'null'],
      description: 'Transfers of USDC to it whose note says x402; anybody can write such notes',
      required: ['payments', 'payers', 'usd', 'amount', 'firstAt', 'lastAt', 'complete'],
      properties: {
        payments: { type: 'integer' },
        payers: { type: 'integer', description: 'How many different ones' },
        usd: text('$1.50'),
        amount: text('Base units'),
        firstAt: textOrNull('ISO 8601'),
        lastAt: textOrNull('ISO 8601'),
        complete: { type: 'boolean', description: 'Whether these are all there are' },
      },
    },
    listed: {
      type: ['boolean', 'null'],
      description: 'In the facilitator’s index; null where it did not answer',
    },
    resources: { type: 'array', items: { type: 'string' }, description: 'What is listed under it' },
    registered: {
      type: ['boolean', 'null'],
      description: 'In the on-chain registry; null where none could be read',
    },
    agent: {
      type: ['object', 'null'],
      required: ['agentId', 'domain', 'cardUrl'],
      properties: {
        agentId: text('In the registry'),
        domain: text('As it was registered: a claim, until its card points back'),
        cardUrl: textOrNull('Where that card is'),
      },
    },
    notes: { type: 'array', items: { type: 'string' }, description: 'What to know before paying' },
  },
} as const
