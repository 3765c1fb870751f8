/** Turns arguments that people type into values that the SDK takes. */
import { InvalidArgumentError } from 'commander'
import { networkFrom } from '../src/app/server/network-from.js'
import type { Network } from '../src/domain/network.js'

export function jsonArgument(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new InvalidArgumentError('It is not JSON.')
  }
}

export function networkArgument(text: string): Network {
  try {
    return networkFrom(text)
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message)
  }
}

export const NETWORK_OPTION = [
  '--network <network>',
  'mainnet, testnet or a JSON file that defines one (default: SVC_NETWORK, else mainnet; testnet with SVC_SANDBOX)',
  networkArgument,
] as const

export function portArgument(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (port <= 65_535) return port
  throw new InvalidArgumentError('A port is 0 to 65535.')
}

export function countArgument(text: string): number {
  const count = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (count >= 1 && count <= 100) return count
  throw new InvalidArgumentError('It is 1 to 100.')
}

export function methodArgument(text: string): string {
  const method = text.toUpperCase()
  if (method === 'GET' || method === 'POST') return method
  throw new InvalidArgumentError('It is GET or POST.')
}

/** A day or a moment, in UTC unless the text names another zone; in milliseconds since the epoch. */
export function momentArgument(text: string): number {
  const zoned = /T\d{2}:\d{2}(:\d{2}(\.\d+)?)?$/.test(text) ? `${text}Z` : text
  const ms = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(zoned) : Number.NaN
  if (!Number.isNaN(ms)) return ms
  throw new InvalidArgumentError('It is a day or a moment, such as 2026-01-31 or 2026-01-31T12:00Z.')
}
