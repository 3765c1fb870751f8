/** `svc balance`: lists the balances that were bought from this machine, and buys one. `svc call --balance` and `svc mcp` take from them. */
import { endLines, failedAfter } from '../../src/app/client/index.js'
import type { AgentBalance } from '../../src/client.js'
import { urlArgument, WALLET_OPTION } from '../arguments.js'
import { balanceFile } from '../balance-file.js'
import { command } from '../define-command.js'
import { untilEnded } from '../exit.js'
import { NETWORK_OPTION, networkFromEnvironment } from '../networks.js'
import { columns, json, note, printable, tell, whileWaiting } from '../output.js'
import { walletWords } from '../wallet-words.js'

export const balanceCommand = command({
  name: 'balance',
  says: 'list the balances that you bought at agents, and buy one',
  takes: [['[agent]', "the agent's base URL (default: all)", urlArgument]],
  flags: [
    ['--buy <usd>', 'buy a balance of this amount there, such as 5'],
    NETWORK_OPTION,
    WALLET_OPTION,
    ['--json', 'print one JSON object'],
  ],
  help: `
Calls then take from it what they cost: svc call --balance, and svc mcp. The keys are in the file ~/.svc/balances.json (SVC_BALANCES names
another), which only you can read. A purchase whose answer was lost is finished by the same command.

Examples:
  $ svc balance https://agent.example --buy 5 --wallet wallet.txt
  $ svc balance`,
}).does(async (agent, flags, command) => {
  const { network = networkFromEnvironment(), buy } = flags
  if (buy !== undefined && agent === undefined) command.error('error: --buy needs the agent')
  const mnemonic = buy === undefined ? undefined : await walletWords(flags.wallet)
  const { SvcClient, memorySpendLedger } = await import('../../src/client.js')
  const client = new SvcClient({
    mnemonic,
    network,
    maxPerDay: buy,
    ledger: balanceFile(memorySpendLedger()),
  })
  if (agent === undefined || buy === undefined) {
    const at = agent && new URL(agent).href.replace(/\/+$/, '')
    const found = (await client.balances()).filter(each => at === undefined || each.agent === at)
    return tell(flags, json({ balances: found }), found.length === 0 ? ['no balances'] : found.flatMap(shown))
  }
  try {
    const signal = untilEnded()
    const bought = await whileWaiting(`buying at ${printable(agent)}`, client.topUp(agent, buy, { signal }))
    for (const { code, message } of bought.warnings ?? []) note(`warning: ${printable(message)} (${code})`)
    tell(flags, json(bought), [...shown(bought), ...columns([['transaction', bought.payment?.txId]])])
  } catch (error) {
    const payments = [...client.receipts]
    if (payments.length === 0) throw error
    note(...endLines({ payments, windows: [] }).map(printable))
    throw failedAfter(error, { payments, windows: [] })
  }
})

function shown({ agent, usd, expiresAt }: AgentBalance): string[] {
  return columns([
    ['agent', agent],
    ['left', `$${usd}`],
    ['ends', expiresAt === undefined ? undefined : new Date(expiresAt).toISOString()],
  ])
}
