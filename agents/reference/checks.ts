/** What the checking endpoints answer with: a list of checks, each with what was found and what to do. */
import type { Finding } from '../../src/checks/index.js'

export interface Check {
  readonly name: string
  /** `null` where it could not be told. */
  readonly pass: boolean | null
  /** What was found. */
  readonly found: string
  /** What to do about it; absent where nothing is to be done. */
  readonly fix?: string
}

export function asChecks(findings: readonly Finding[]): Check[] {
  return findings.map(({ check, status, message, cure }) => ({
    name: check,
    pass: status === 'skipped' ? null : status === 'ok',
    found: message,
    ...(cure !== undefined && { fix: cure }),
  }))
}

export function allPass(findings: readonly Finding[]): boolean {
  return findings.every(({ status }) => status === 'ok')
}

export const CHECKS_SCHEMA = {
  type: 'array',
  items: {
    type: 'object',
    required: ['name', 'pass', 'found'],
    properties: {
      name: { type: 'string' },
      pass: { type: ['boolean', 'null'], description: 'null where it could not be told' },
      found: { type: 'string', description: 'What was found' },
      fix: { type: 'string', description: 'What to do about it' },
    },
  },
} as const
