/** Paid calls without a network: for tests and for first steps. @packageDocumentation */

export type { SandboxRegistry } from './sandbox/agent-registry.js'
export type { Fault, FaultName, FaultOptions, Faults, Stage } from './sandbox/faults.js'
export type { Credit, Landing } from './sandbox/ledger.js'
export { startSandbox } from './sandbox/sandbox.js'
export type {
  Sandbox,
  SandboxAccount,
  SandboxOptions,
  SandboxTransaction,
} from './sandbox/sandbox-options.js'
