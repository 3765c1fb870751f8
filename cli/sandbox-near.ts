/** Starts a sandbox where people expect it, so that what they exported once stays true. */
import type { Sandbox, SandboxOptions } from '../src/sandbox.js'

export const SANDBOX_PORT = 4402

/** On its usual port, or on any where that is taken; on the given one or not at all. */
export async function startSandboxNear(options: SandboxOptions, port?: number): Promise<Sandbox> {
  const { startSandbox } = await import('../src/sandbox.js')
  if (port !== undefined) return startSandbox({ ...options, port })
  try {
    return await startSandbox({ ...options, port: SANDBOX_PORT })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    return startSandbox(options)
  }
}
