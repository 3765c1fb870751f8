import { defineEndpoint, type EndpointDef } from '../../../src/index.js'
import { CHECKS_SCHEMA } from '../checks.js'
import { settlementReport } from '../settlement.js'
import type { Sources } from '../sources.js'
import { NETWORK_SCHEMA, text, textOrNull } from './schemas.js'

export function verifySettlementEndpoint({ network: own, chains }: Sources): EndpointDef {
  return defineEndpoint({
    name: 'verify-settlement',
    description: 'Checks that a transaction is a real x402 settlement, and decodes what it moved',
    price: '$0.02',
    tags: ['verification'],
    timeout: 60_000,
    input: {
      type: 'object',
      // Well-formed; a transaction of its name exists nowhere.
      examples: [{ txid: 'A'.repeat(52) }],
      required: ['txid'],
      properties: {
        txid: { type: 'string', minLength: 52, maxLength: 52, description: 'The transaction that pays' },
        network: NETWORK_SCHEMA,
      },
    },
    output: OUTPUT,
    handler: ({ body: { txid, network = own } }) => settlementReport(chains[network], txid),
  })
}

const OUTPUT = {
  type: 'object',
  required: ['txid', 'network', 'settlement', 'checks', 'transaction'],
  properties: {
    txid: text('As it was asked for'),
    network: text('CAIP-2'),
    settlement: { type: 'boolean', description: 'Whether every check passed' },
    checks: CHECKS_SCHEMA,
    transaction: {
      type: ['object', 'null'],
      description: 'What landed; null where nothing did',
      required: [
        'type',
        'round',
        'at',
        'payer',
        'receiver',
        'amount',
        'asset',
        'usd',
        'note',
        'group',
        'feePayer',
        'feeMicroAlgos',
      ],
      properties: {
        type: text('axfer for a payment in USDC'),
        round: { type: 'integer' },
        at: text('ISO 8601'),
        payer: text('Whose money was moved'),
        receiver: textOrNull('Who got it'),
        amount: textOrNull('Base units of the asset; of ALGO where there is none'),
        asset: textOrNull('Asset id'),
        usd: textOrNull('$1.50, where the asset is USDC'),
        note: text('A stranger’s text, shortened'),
        group: {
          type: ['object', 'null'],
          required: ['id', 'size', 'transactions'],
          properties: {
            id: text('Base64'),
            size: { type: ['integer', 'null'] },
            transactions: { type: 'array', items: { type: 'string' } },
          },
        },
        feePayer: textOrNull('Who paid the network’s fee'),
        feeMicroAlgos: text('The fee'),
      },
    },
  },
} as const
