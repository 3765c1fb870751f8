/** The result of a check, and how to fix a problem: for `svc doctor`, and for the reference agent's checking endpoints. */

export interface Finding {
  readonly check: string
  /** `skipped` where this check cannot be made: another one failed, or nobody answered. */
  readonly status: 'ok' | 'failed' | 'skipped'
  readonly message: string
  readonly cure?: string
}

export function ok(check: string, message: string): Finding {
  return { check, status: 'ok', message }
}

export function failed(check: string, message: string, cure: string): Finding {
  return { check, status: 'failed', message, cure }
}

export function skipped(check: string, message: string, cure?: string): Finding {
  return { check, status: 'skipped', message, ...(cure !== undefined && { cure }) }
}

/** `fine` is the message where there is no problem. */
export function judged(check: string, problems: readonly string[], cure: string, fine: string): Finding {
  return problems.length === 0 ? ok(check, fine) : failed(check, problems.join('; '), cure)
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** This much is enough to recognize a text. More would only repeat what a stranger wrote. */
const QUOTED_LENGTH_MAX = 120

/** A stranger's value is data: shortened, escaped, and in quotation marks. */
export function quoted(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))
  return JSON.stringify(text.length > QUOTED_LENGTH_MAX ? `${text.slice(0, QUOTED_LENGTH_MAX)}…` : text)
}
