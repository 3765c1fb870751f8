/** The messages of `svc dev`. The agent prints its own output too; these lines are true whatever it prints. */
import type { ManifestEndpoint } from '../../src/client.js'
import { formatUsd, shellWord, windowShown } from '../../src/domain/index.js'
import { printable, styled } from '../output.js'
import type { CallReport, FailureReport, LogReport } from './announce.js'
import type { FirstCall, Offer } from './first-call.js'

export function offerTold(
  { url, manifest, call, auditUrl }: Offer,
  exports: readonly string[] | undefined,
): string[] {
  const { name, network, payTo, endpoints } = manifest
  return [
    '',
    `${printable(name)} on ${url}, ${network}, paid to ${printable(payTo)}`,
    ...endpoints.map(endpointTold),
    ...(auditUrl === undefined ? [] : ['', `Calls and money: ${auditUrl}`]),
    ...(call ? ['', ...(exports ? paidTold(call, exports) : quoteTold(call))] : []),
    '',
    'Ctrl-C stops it.',
  ]
}

export function callTold(report: CallReport): string {
  const { method, name, status, code, charged, amount, ms, isBroken } = report
  const broken = isBroken ? ', the stream broke' : ''
  const outcome = status < 400 ? '' : ` ${code}`
  const asked = printable(`${method} /${name}`)
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

function endpointTold({ method, url, price, period, calls }: ManifestEndpoint): string {
  return `  ${printable(`${method} ${url}  ${price}${windowShown({ period, calls })}`)}`
}

function quoteTold({ url, body }: FirstCall): string[] {
  return [
    'Ask for its price, for nothing:',
    '',
    `  ${svc()} quote ${shellWord(printable(url))}${bodyFlag(body)}`,
  ]
}

function paidTold({ url, body, price }: FirstCall, exports: readonly string[]): string[] {
  return [
    'Pay it with play money. Paste this into another terminal, here:',
    '',
    ...exports,
    `  ${svc()} call ${shellWord(printable(url))} --max-price ${price}${bodyFlag(body)}`,
  ]
}

function bodyFlag(body: string | undefined): string {
  return body === undefined ? '' : ` --body ${shellWord(printable(body))}`
}

/** Under an npm script `svc` may not be on the path; `--no` keeps npx from fetching another author's package of that name. */
function svc(): string {
  return process.env.npm_lifecycle_event ? 'npx --no svc' : 'svc'
}
