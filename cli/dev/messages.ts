/** The messages of `svc dev`. The agent prints its own output too; these lines are true whatever it prints. */
import type { ManifestEndpoint } from '../../src/client.js'
import { formatUsd } from '../../src/domain/money.js'
import { windowShown } from '../../src/domain/subscription-terms.js'
import { printable } from '../output.js'
import { shellWord } from '../shell-word.js'
import type { CallReport, FailureReport } from './announce.js'
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

/** One line a call: what was asked for, how it ended, what it earned, how long it took. */
export function callTold({
  method,
  name,
  status,
  code,
  charged,
  amount,
  ms,
  isBroken,
}: CallReport['svcDevCall']): string {
  const money = CHARGED[charged] ?? charged
  const price = charged === 'yes' && amount !== undefined ? ` ${formatUsd(BigInt(amount))}` : ''
  const broken = isBroken ? ', the stream broke' : ''
  const outcome = status < 400 ? '' : ` ${code}`
  return printable(`${method} /${name} ${status}${outcome}, ${money}${price}${broken}, ${ms} ms`)
}

const CHARGED: Readonly<Record<string, string>> = {
  yes: 'charged',
  no: 'not charged',
  maybe: 'maybe charged',
  earlier: 'charged earlier',
}

/** The stack as Node prints it. */
export function failureTold({ endpoint, error }: FailureReport['svcDevFailure']): string[] {
  return [
    `the handler of ${printable(endpoint)} failed:`,
    ...error.split('\n').map(line => `  ${printable(line)}`),
  ]
}

function endpointTold({ method, url, price, period, calls }: ManifestEndpoint): string {
  return `  ${printable(`${method} ${url}  ${price}${windowShown({ period, calls })}`)}`
}

function quoteTold({ url, body }: FirstCall): string[] {
  return ['Ask for its price, for nothing:', '', `  ${svc()} quote ${shellWord(url)}${bodyFlag(body)}`]
}

function paidTold({ url, body, price }: FirstCall, exports: readonly string[]): string[] {
  return [
    'Pay it with play money. Paste this into another terminal, here:',
    '',
    ...exports,
    `  ${svc()} call ${shellWord(url)} --max-price ${price}${bodyFlag(body)}`,
  ]
}

function bodyFlag(body: string | undefined): string {
  return body === undefined ? '' : ` --body ${shellWord(body)}`
}

/**
 * If an npm script started `svc dev`, `svc` need not be on the developer's path. `--no` prevents npx from fetching
 * another author's package of that name.
 */
function svc(): string {
  return process.env.npm_lifecycle_event ? 'npx --no svc' : 'svc'
}
