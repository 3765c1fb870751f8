/** What the checking endpoints answer with: a list of checks, each with what was found and what to do. */

export interface Check {
  readonly name: string
  /** `null` where it could not be told. */
  readonly pass: boolean | null
  /** What was found. */
  readonly found: string
  /** What to do about it; absent where nothing is to be done. */
  readonly fix?: string
}

export function passed(name: string, found: string): Check {
  return { name, pass: true, found }
}

export function failed(name: string, found: string, fix: string): Check {
  return { name, pass: false, found, fix }
}

export function untold(name: string, found: string, fix: string): Check {
  return { name, pass: null, found, fix }
}

export function allPass(checks: readonly Check[]): boolean {
  return checks.every(({ pass }) => pass === true)
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

/** How much of a stranger's text is repeated. */
const QUOTED_CHARS_MAX = 120

/** Strangers' text is data: shortened, and in quotation marks of its own. */
export function quoted(text: unknown): string {
  const shown = typeof text === 'string' ? text : (JSON.stringify(text) ?? String(text))
  return JSON.stringify(shown.length > QUOTED_CHARS_MAX ? `${shown.slice(0, QUOTED_CHARS_MAX)}…` : shown)
}
