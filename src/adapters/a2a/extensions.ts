/**
 * The extensions that a client activates: it names them in a header, and the answer's header names those that took
 * effect.
 */
import { extensionUris } from '../../domain/agent-card.js'

/** The header's names in A2A 1.0 and 0.3. */
const HEADERS = ['a2a-extensions', 'x-a2a-extensions'] as const

export function activated(
  headers: Readonly<Record<string, string | undefined>>,
  extBase: string,
): Readonly<Record<string, string>> {
  const ours: readonly string[] = Object.values(extensionUris(extBase))
  return Object.fromEntries(
    HEADERS.flatMap(name => {
      const asked = headers[name]?.split(',').map(uri => uri.trim()) ?? []
      const active = ours.filter(uri => asked.includes(uri))
      return active.length > 0 ? [[name, active.join(', ')]] : []
    }),
  )
}
