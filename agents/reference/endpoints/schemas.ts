/** Pieces of the endpoints' schemas. */

export const NETWORK_SCHEMA = {
  type: 'string',
  enum: ['testnet', 'mainnet'],
  description: 'By default the network that this agent is paid on',
} as const

export function text<const Description extends string>(description: Description) {
  return { type: 'string', description } as const
}

export function textOrNull<const Description extends string>(description: Description) {
  return { type: ['string', 'null'], description } as const
}
