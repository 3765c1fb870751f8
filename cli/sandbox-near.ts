/** Starts a sandbox at the usual address, so that variables that a developer exported once stay valid. */
import type { Sandbox, SandboxOptions } from '../src/sandbox.js'

export const SANDBOX_PORT = 4402

/** Uses the usual port, or any free port where the usual one is taken. A given port is the only choice. */
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
