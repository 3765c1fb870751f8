/** Ends a command: one line on stderr, and an exit code for scripts. Never a stack trace. */
import { CommanderError } from 'commander'
import { isAfterPayment } from '../src/app/client/index.js'
import { isRecord, SvcError } from '../src/domain/index.js'
import { exitOf } from './error-codes.js'
import { isResultBegun, json, note, print, printable } from './output.js'
import { systemError } from './system-error.js'

export const EXIT = { failed: 1, usage: 2, refused: 3, charged: 4 } as const

export const EXIT_HELP = `
Exit codes:
  0  done
  1  failed; no payment was sent
  2  the command, an argument or the wallet cannot be used
  3  refused to pay: too dear, or a quote that cannot be read or paid
  4  failed after a payment was sent: it was charged, or can be until its last round`

/** With `--json` for programs on stdout too, where a report does not say it already. Returns the exit code. */
export function report(error: unknown, asJson: boolean): number {
  // Help and version are not errors, and are printed already.
  if (error instanceof CommanderError && error.exitCode === 0) return 0
  // The user named no command, and the help has listed the commands.
  if (error instanceof CommanderError && error.code === 'commander.help') return EXIT.usage
  const { message, code, exitCode } = told(error)
  if (asJson && !isResultBegun) {
    const { status, detail } = error instanceof SvcError ? error : {}
    try {
      print(json({ error: { code, message, status, detail } }))
    } catch {
      // Where stdout cannot be written, the line and the exit code say it.
    }
  }
  note(`svc: ${printable(message)} (${printable(code)})`)
  return exitCode
}

function told(error: unknown) {
  if (error instanceof CommanderError) {
    // Commander puts what it suggests on a line of its own, and calls an argument a command-argument value.
    const message = error.message
      .replace(/^error: (command-argument value)?\s*/, '')
      .replace(/\s*\n\(Did you mean (.*)\?\)$/s, '. Did you mean $1?')
    return { message, code: 'usage', exitCode: EXIT.usage }
  }
  const known = error instanceof SvcError ? error : systemError(error)
  if (known) return { message: known.message, code: known.code, exitCode: exitCodeOf(known) }
  const message = error instanceof Error ? error.message : String(error)
  return { message, code: 'internal_error', exitCode: EXIT.failed }
}

/** Of calls that were sent: the detail of others is a seller's quote or manifest. */
const CALL_ENDS = new Set(['call_failed', 'network_error', 'aborted', 'balance_gone'])

function exitCodeOf(error: SvcError): number {
  const { code, detail } = error
  // Whatever a seller says, only the chain ends a payment that was signed and sent.
  if (isAfterPayment(error)) return EXIT.charged
  const { charged } = CALL_ENDS.has(code) && isRecord(detail) ? detail : {}
  return charged === 'maybe' || charged === 'yes' ? EXIT.charged : exitOf(code)
}

export function signalled(): Promise<void> {
  return new Promise(resolve => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
  })
}

/** Fires where the user ends the command, or its time is over: a payment that was sent is told of before. */
export function untilEnded(timeoutMs?: number): AbortSignal {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => stop.abort())
  if (timeoutMs !== undefined) setTimeout(() => stop.abort(), timeoutMs).unref()
  return stop.signal
}
