/**
 * The extensions that a client activates: it names them in a header, and the answer's header names those that took
 * effect.
 */
import { A2A_X402_URI, extensionUris } from '../../domain/agent-card.js'

/** The header's names in A2A 1.0 and 0.3. */
const HEADERS = ['a2a-extensions', 'x-a2a-extensions'] as const

export function activated(
  headers: Readonly<Record<string, string | undefined>>,
  extBase: string,
): Readonly<Record<string, string>> {
  const ours: readonly string[] = [...Object.values(extensionUris(extBase)), A2A_X402_URI]
  return Object.fromEntries(
    HEADERS.flatMap(name => {
      const asked = urisIn(headers[name])
      const active = ours.filter(uri => asked.includes(uri))
      return active.length > 0 ? [[name, active.join(', ')]] : []
    }),
  )
}

/** Whether the client asks for the flow of the x402 extension. */
export function wantsTask(headers: Readonly<Record<string, string | undefined>>): boolean {
  return HEADERS.some(name => urisIn(headers[name]).includes(A2A_X402_URI))
}

function urisIn(header: string | undefined): readonly string[] {
  return header?.split(',').map(uri => uri.trim()) ?? []
}
