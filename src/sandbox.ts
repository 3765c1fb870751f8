/**
 * Paid calls without a network, for tests and for the first hour.
 *
 * @packageDocumentation
 */
export type { Fault, FaultName, FaultOptions, Faults, Stage } from './adapters/sandbox/faults.js'
export type { Credit } from './adapters/sandbox/ledger.js'
export type { SandboxRegistry } from './adapters/sandbox/registry.js'
export {
  type Sandbox,
  type SandboxAccount,
  type SandboxOptions,
  type SandboxTransaction,
  startSandbox,
} from './adapters/sandbox/sandbox.js'
