/** `svc trigger`: plays a case against a local agent, with play money, and says whether the rules held. */
import { networkFrom } from '../../src/app/server/network-from-environment.js'
import { formatUsd, networkFacts, SvcError } from '../../src/domain/index.js'
import { CASE_NAMES, CASES, loadPlayer, type Played } from '../../src/trigger/index.js'
import { jsonArgument, required, urlArgument } from '../arguments.js'
import { command } from '../define-command.js'
import { untilEnded } from '../exit.js'
import { NETWORK_OPTION } from '../networks.js'
import { json, printable, type Shown, styled, tell } from '../output.js'
import { SANDBOX_PORT } from './sandbox.js'

const AGENT = `http://127.0.0.1:${process.env.PORT || 4021}`

export const triggerCommand = command({
  name: 'trigger',
  says: 'play a case against a local agent, with play money, and say whether the rules held',
  takes: [
    ['[case]', 'what happens, or all', { choices: [...CASE_NAMES, 'all'] }],
    ['[agent]', 'its base URL', urlArgument, AGENT],
  ],
  flags: [
    ['--list', 'list the cases'],
    ['--endpoint <name>', 'which endpoint (default: the first that has an example of its input)'],
    ['--body <json>', 'what to send: JSON, @file, or - for standard input', jsonArgument],
    NETWORK_OPTION,
    ['--json', 'print a line of JSON for each case'],
  ],
  help: `
The agent runs on a sandbox: svc dev --sandbox, or svc sandbox and SVC_SANDBOX. The payer is a new account each time. What was
charged is what the ledger says. Exit code 1 where a rule did not hold.

Examples:
  $ svc trigger --list
  $ svc trigger replay
  $ svc trigger all http://localhost:4030 --endpoint echo --body '{"text":"hello"}'`,
}).does(async (named, agentUrl, flags) => {
  if (flags.list) return printList(flags)
  const chosen = required(named, 'The name of a case (svc trigger --list has them)')
  const network = networkFacts(flags.network ?? networkFrom(process.env.SVC_NETWORK || 'testnet'))
  const { play, sandboxControl } = await loadPlayer()
  const { targetAt } = await import('../dev/first-call.js')
  const sandboxUrl = (process.env.SVC_SANDBOX || `http://127.0.0.1:${SANDBOX_PORT}`).replace(/\/+$/, '')
  const sandbox = await sandboxControl(sandboxUrl, network)
  const target = await targetAt(agentUrl, network.given, flags)
  const signal = untilEnded()
  const broken: string[] = []
  for (const name of chosen === 'all' ? CASE_NAMES : [chosen]) {
    const played = await play(name, target, { network, sandbox, signal })
    tell(flags, json(asJson(played)), described(played))
    if (played.broken.length > 0) broken.push(name)
  }
  if (broken.length > 0) throw new SvcError(`The rules did not hold: ${broken.join(', ')}`, 'rule_broken')
})

function printList(flags: Shown): void {
  const list = CASE_NAMES.map(name => ({ case: name, says: CASES[name].says, rule: CASES[name].rule }))
  const told = list.map(({ case: name, says }) => [name, says] as const)
  tell(flags, json(list, 'indented'), told)
}

function described({ name, target, answers, paid, price, broken, advice }: Played): string[] {
  const { says, rule } = CASES[name]
  const asked = `${target.body === undefined ? 'GET' : 'POST'} ${new URL(target.url).pathname}`
  const charged =
    paid === 0n
      ? 'not charged'
      : `charged ${formatUsd(paid)}${paid === price ? '' : `, the price is ${formatUsd(price)}`}`
  return [
    `${styled('bold', name)}: ${says}`,
    ...answers.map(({ status, end, txId, ms }) =>
      printable(
        `  ${asked}  ${status || '-'} ${end}${txId === undefined ? '' : `, payment ${txId}`}, ${ms} ms`,
      ),
    ),
    `  ${charged}`,
    ...(broken.length === 0
      ? [`  ${styled('green', 'as promised')}: ${rule}`]
      : [`  ${styled('red', 'NOT AS PROMISED')}: ${rule}`, ...broken.map(what => `  ${printable(what)}`)]),
    ...(advice === undefined ? [] : [`  ${advice}`]),
    '',
  ]
}

function asJson({ name, target, paid, price, broken, ...played }: Played) {
  return {
    case: name,
    url: target.url,
    asPromised: broken.length === 0,
    broken,
    chargedBaseUnits: paid,
    priceBaseUnits: price,
    ...played,
  }
}
