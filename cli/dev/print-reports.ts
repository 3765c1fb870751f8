/** What `svc dev` prints of an agent's reports. The agent prints its own output too; these lines are true whatever it prints. */
import { formatUsd } from '../../src/domain/index.js'
import { printable, styled } from '../output.js'
import type { CallReport, FailureReport, LogReport } from './preloaded-reporter.js'

export function callTold(report: CallReport): string {
  const { method, path, status, code, charged, amount, ms, isBroken } = report
  const broken = isBroken ? ', the stream broke' : ''
  const outcome = status < 400 ? '' : ` ${code}`
  const asked = printable(`${method} ${path}`)
  const ended = printable(`${status}${outcome}, ${moneyTold(charged, amount)}${broken}`)
  return `${asked} ${styled(status < 400 ? 'green' : 'yellow', ended, process.stderr)}, ${ms} ms`
}

export function logTold({ endpoint, message, data }: LogReport): string {
  return printable(`${endpoint}: ${message}${data === undefined ? '' : ` ${JSON.stringify(data)}`}`)
}

export function moneyTold(charged: string, amount: unknown): string {
  const price =
    charged === 'yes' && typeof amount === 'string' && /^\d{1,20}$/.test(amount)
      ? ` ${formatUsd(BigInt(amount))}`
      : ''
  return `${CHARGED[charged] ?? charged}${price}`
}

const CHARGED: Readonly<Record<string, string>> = {
  yes: 'charged',
  no: 'not charged',
  maybe: 'maybe charged',
  earlier: 'charged earlier',
  balance: 'taken from a balance',
}

/** A failure that comes again is told in a line: clients repeat a call that was answered with a status of 500 or above. */
export function failureTeller(): (failure: FailureReport) => string[] {
  let last = ''
  let times = 0
  return ({ endpoint, error }) => {
    const failure = `${endpoint}\n${error}`
    times = failure === last ? times + 1 : 1
    last = failure
    const told = (how: string) =>
      styled('red', `the handler of ${printable(endpoint)} failed${how}`, process.stderr)
    if (times > 1) return [told(` again in the same way, ${times} times now`)]
    return [told(':'), ...error.split('\n').map(line => `  ${printable(line)}`)]
  }
}
