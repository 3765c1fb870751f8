/** Loaded into the agent before its own code: reports to `svc dev`, and ends the agent when `svc dev` has ended for any reason. */
import { subscribe } from 'node:diagnostics_channel'
import { writeSync } from 'node:fs'
import type { Server } from 'node:net'
import { inspect } from 'node:util'
import type { CallEndedMessage, HandlerFailedMessage } from '../../src/audit/index.js'
import type { SvcError } from '../../src/domain/index.js'
import { printable } from '../output.js'
import { OWN_CODE } from '../package.js'
import { systemError } from '../system-error.js'
import { keepMemory } from './memory-over-restarts.js'
import { installHooks } from './module-hooks.js'

export type Report =
  | { readonly svcDevPort: number }
  | { readonly svcDevCall: CallReport }
  | { readonly svcDevFailure: FailureReport }
  | { readonly svcDevLog: LogReport }
export type CallReport = Pick<
  CallEndedMessage['call'],
  'status' | 'code' | 'charged' | 'amount' | 'ms' | 'traceId'
> &
  Pick<CallEndedMessage['endpoint'], 'method'> & { readonly path: string; readonly isBroken: boolean }
export type FailureReport = Record<'endpoint' | 'traceId' | 'error', string>
export type LogReport = { readonly endpoint: string; readonly message: string; readonly data?: unknown }

/** Once `svc dev` has ended nobody hears it, and calls in flight go on. */
const tell = (report: Report) => void process.send?.(report, undefined, undefined, () => {})

installHooks()
keepMemory()

subscribe('tracing:net.server.listen:asyncEnd', message => {
  const address = (message as { server: Server }).server.address()
  if (address === null || typeof address === 'string') return
  tell({ svcDevPort: address.port })
})

subscribe('svc.call.ended', message => {
  const { endpoint, call } = message as CallEndedMessage
  const { status, code, charged, amount, ms, traceId, streamBroken } = call
  const { method, name, path = `/${name}` } = endpoint
  const isBroken = streamBroken === true
  tell({ svcDevCall: { method, path, status, code, charged, amount, ms, traceId, isBroken } })
})

/** Frames of this package, of other packages and of Node say nothing about the developer's code. */
function isOwnFrame(line: string): boolean {
  return (
    /^\s+at .*[\\/]/.test(line) &&
    ![...OWN_CODE, '/node_modules/', 'node:'].some(other => line.includes(other))
  )
}

subscribe('svc.handler.failed', message => {
  const { endpoint, traceId, error } = message as HandlerFailedMessage
  const lines = inspect(error).split('\n')
  const told = lines.filter(line => !/^\s+(at |\.\.\. \d+ lines matching)/.test(line) || isOwnFrame(line))
  const report = { endpoint, traceId, error: told.join('\n') }
  tell({ svcDevFailure: report })
})

subscribe('svc.handler.logged', message => tell({ svcDevLog: message as LogReport }))

const STDERR = 2

// What the developer can mend in a moment needs no stack: what is wrong, and the line of theirs that it comes from. The agent's own
// handler of such errors goes before this.
process.on('uncaughtExceptionMonitor', error => {
  if (process.listenerCount('uncaughtException') > 0) return
  const known = isOurs(error) ? error : systemError(error)
  if (known === undefined) return
  const frame = error.stack?.split('\n').find(isOwnFrame)
  const line = frame === undefined ? '' : `, ${printable(frame.trim())}`
  const unset =
    known.code === 'invalid_address' && !process.env.SVC_PAY_TO ? ' Set SVC_PAY_TO, or add --sandbox' : ''
  writeSync(STDERR, `svc dev: ${printable(known.message)}${unset} (${printable(known.code)})${line}\n`)
  process.exit(1)
})

/** The agent may have another copy of this package. */
function isOurs(error: Error): error is SvcError {
  return error.name === 'SvcError' && typeof (error as { code?: unknown }).code === 'string'
}

process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
// A listener for the channel's end must not keep the agent running.
process.channel?.unref()
