/** When an endpoint became deprecated, and when it will stop answering. */
import { SvcError } from './errors.js'

/** ISO 8601 moments in UTC, as `Date.toISOString` writes them. */
export interface Lifecycle {
  /**
   * From when callers should use another endpoint.
   *
   * @see RFC 9745
   */
  readonly deprecated?: string
  /**
   * When it is expected to stop.
   *
   * @see RFC 8594
   */
  readonly sunset?: string
}

const ISO_8601 = /^\d{4}-(\d{2})-(\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/

/**
 * @throws SvcError `invalid_endpoint` for a value that is not a moment, and for a sunset before the deprecation (RFC
 * 9745).
 */
export function lifecycleOf(
  name: string,
  { deprecated, sunset }: { readonly deprecated?: unknown; readonly sunset?: unknown },
): Lifecycle {
  const moments = {
    ...(deprecated !== undefined && { deprecated: moment(name, 'deprecated', deprecated) }),
    ...(sunset !== undefined && { sunset: moment(name, 'sunset', sunset) }),
  }
  if (moments.deprecated && moments.sunset && moments.sunset < moments.deprecated) {
    throw new SvcError(`Endpoint '${name}': sunset comes before deprecated`, 'invalid_endpoint')
  }
  return moments
}

function moment(name: string, option: string, value: unknown): string {
  const parsed = value instanceof Date ? value : new Date(isReal(value) ? value : Number.NaN)
  if (!Number.isNaN(parsed.getTime())) return parsed.toISOString()
  throw new SvcError(
    `Endpoint '${name}': ${option} is a Date or ISO 8601 text such as '2026-12-31', not ${JSON.stringify(value)}`,
    'invalid_endpoint',
  )
}

/** JavaScript reads the 30th of February as the 2nd of March, so this compares the parsed date with its text. */
function isReal(value: unknown): value is string {
  const match = typeof value === 'string' ? ISO_8601.exec(value) : null
  if (!match) return false
  const year = Number((value as string).slice(0, 4))
  const [, month, day] = match.map(Number)
  return day! <= new Date(Date.UTC(year, month!, 0)).getUTCDate()
}
