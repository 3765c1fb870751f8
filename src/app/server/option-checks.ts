/** Checks that several options share. Each check throws SvcError `invalid_options`, and names the option. */
import { SvcError, shown } from '../../domain/errors.js'
import type { ProtocolFacilitator } from '../../ports/protocol-facilitator.js'

export function invalid(message: string): SvcError {
  return new SvcError(message, 'invalid_options')
}

export function positive(name: string, value: number): number {
  if (Number.isInteger(value) && value > 0) return value
  throw invalid(`${name} is a positive whole number, not ${shown(value)}`)
}

export function oneOf<Word extends string>(name: string, value: Word, words: readonly Word[]): Word {
  if (words.includes(value)) return value
  throw invalid(`${name} is ${words.join(' or ')}, not ${shown(value)}`)
}

export function boolean(name: string, value: boolean): boolean {
  if (typeof value === 'boolean') return value
  throw invalid(`${name} is true or false, not ${shown(value)}`)
}

export function functionOf<T>(name: string, value: T): T {
  if (value === undefined || typeof value === 'function') return value
  throw invalid(`${name} is a function, not ${shown(value)}`)
}

const SECRET_TOKEN = /^[\x21-\x7e]{16,}$/

/** The message quotes nothing of it. */
export function secretToken(name: string, token: unknown): string {
  if (typeof token === 'string' && SECRET_TOKEN.test(token)) return token
  throw invalid(`${name} is at least 16 visible ASCII characters without a space`)
}

const HOST_NAME = /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/

export function hostNames(name: string, hosts: readonly string[] = []): ReadonlySet<string> {
  const names = [hosts].flat().map(host => (typeof host === 'string' ? host.toLowerCase() : host))
  const wrong = names.find(host => typeof host !== 'string' || !HOST_NAME.test(host))
  if (wrong === undefined) return new Set(names)
  throw invalid(`${name} lists host names without ports, such as 'ops.example.com', not ${shown(wrong)}`)
}

export function facilitatorInProcessOf(
  own: ProtocolFacilitator | undefined,
): ProtocolFacilitator | undefined {
  const methods = ['supported', 'verify', 'settle', 'pays', 'condition', 'check'] as const
  if (own === undefined || methods.every(name => typeof own?.[name] === 'function')) return own
  throw invalid(`facilitator is what createFacilitator makes, not ${shown(own)}`)
}
