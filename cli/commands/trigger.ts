/** `svc trigger`: plays a case against a local agent, with play money, and says whether the rules held. */
import { type Command, Option } from 'commander'
import { formatUsd, type Network, SvcError } from '../../src/domain/index.js'
import { CASE_NAMES, CASES, type CaseName, loadPlayer, type Played } from '../../src/trigger/index.js'
import { jsonArgument, required, urlArgument } from '../arguments.js'
import { signalled } from '../exit.js'
import { NETWORK_OPTION, networkOnSandbox } from '../networks.js'
import { columns, json, print, printable, styled } from '../output.js'
import { SANDBOX_PORT } from './sandbox.js'

interface TriggerFlags {
  readonly endpoint?: string
  readonly body?: string
  readonly network?: Network
  readonly list?: boolean
  readonly json?: boolean
}

const AGENT = `http://127.0.0.1:${process.env.PORT || 4021}`

export function triggerCommand(program: Command): void {
  const command = program.command('trigger')
  command
    .description('play a case against a local agent, with play money, and say whether the rules held')
    .addArgument(command.createArgument('[case]', 'what happens, or all').choices([...CASE_NAMES, 'all']))
    .argument('[agent]', 'its base URL', urlArgument, AGENT)
    .addOption(new Option('--list', 'list the cases'))
    .option('--endpoint <name>', 'which endpoint (default: the first that has an example of its input)')
    .option('--body <json>', 'what to send: JSON, @file, or - for standard input', jsonArgument)
    .option(...NETWORK_OPTION)
    .option('--json', 'print a line of JSON for each case')
    .addHelpText(
      'after',
      `
The agent runs on a sandbox: svc dev --sandbox, or svc sandbox and SVC_SANDBOX. The payer is a new account each time. What was
charged is what the ledger says. Exit code 1 where a rule did not hold.

Examples:
  $ svc trigger --list
  $ svc trigger replay
  $ svc trigger all http://localhost:4030 --endpoint echo --body '{"text":"hello"}'`,
    )
    .action(trigger)
}

async function trigger(
  named: CaseName | 'all' | undefined,
  agentUrl: string,
  flags: TriggerFlags,
): Promise<void> {
  if (flags.list) return printList(flags)
  const chosen = required(named, 'The name of a case (svc trigger --list has them)')
  const network = networkOnSandbox(flags)
  const { play, sandboxControl } = await loadPlayer()
  const { targetAt } = await import('../dev/first-call.js')
  const sandboxUrl = (process.env.SVC_SANDBOX || `http://127.0.0.1:${SANDBOX_PORT}`).replace(/\/+$/, '')
  const sandbox = await sandboxControl(sandboxUrl, network)
  const target = await targetAt(agentUrl, network.given, flags)
  const stop = new AbortController()
  void signalled().then(() => stop.abort())
  const broken: string[] = []
  for (const name of chosen === 'all' ? CASE_NAMES : [chosen]) {
    const played = await play(name, target, { network, sandbox, signal: stop.signal })
    if (flags.json) print(json(asJson(played)))
    else print(...described(played))
    if (played.broken.length > 0) broken.push(name)
  }
  if (broken.length > 0) throw new SvcError(`The rules did not hold: ${broken.join(', ')}`, 'rule_broken')
}

function printList({ json: asJson }: TriggerFlags): void {
  const list = CASE_NAMES.map(name => ({ case: name, says: CASES[name].says, rule: CASES[name].rule }))
  if (asJson) print(json(list, 'indented'))
  else print(...columns(list.map(({ case: name, says }) => [name, says])))
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
