/**
 * The headers `Deprecation` (a moment in Unix seconds) and `Sunset` (an HTTP date).
 *
 * @see RFC 9745 for `Deprecation`, RFC 8594 for `Sunset`
 */
import type { Lifecycle } from '../../domain/deprecation.js'

/** Names and values in turn. */
export function deprecationHeaders({ deprecated, sunset }: Lifecycle): readonly string[] {
  return [
    ...(deprecated === undefined ? [] : ['Deprecation', `@${Math.floor(Date.parse(deprecated) / 1_000)}`]),
    ...(sunset === undefined ? [] : ['Sunset', new Date(sunset).toUTCString()]),
  ]
}
