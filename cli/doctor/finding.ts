/** The result of a check, and how to fix a problem. */

export interface Finding {
  readonly check: string
  /** `skipped` where another check failed, so that this one cannot be made. */
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

export function skipped(check: string, message: string): Finding {
  return { check, status: 'skipped', message }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
