/** `svc mcp`: serves an agent's endpoints as tools for desktop clients, over stdio. Stdout carries only the protocol. */
import { endLines, type PaymentEnd } from '../../src/app/client/index.js'
import { required, WALLET_OPTION } from '../arguments.js'
import { balanceFile } from '../balance-file.js'
import { command } from '../define-command.js'
import { EXIT, signalled } from '../exit.js'
import { NETWORK_OPTION, networkFromEnvironment } from '../networks.js'
import { note, printable } from '../output.js'
import { packageFacts } from '../package.js'
import { taken, walletWords } from '../wallet-words.js'

export const mcpCommand = command({
  name: 'mcp',
  says: "offer an agent's endpoints as MCP tools over stdio, paid from your wallet",
  flags: [
    ['--url <agent>', "the agent's base URL (required)"],
    // A model decides which tools it calls, so there is always a limit.
    ['--max-price <usd>', 'pay at most this much for a call', { default: '0.10' }],
    [
      '--max-per-day <usd>',
      'pay at most this much in 24 hours, counted anew at each start',
      { default: '1.00' },
    ],
    NETWORK_OPTION,
    WALLET_OPTION,
  ],
  help: `
Without a wallet or a balance only the free tools work. At its end it says on stderr what it paid, and the keys of the windows that
it bought. Such a key in SVC_SUBSCRIPTION_KEY opens the window in the next session; of several tools: 'tool=key other=key'.

A balance that svc balance bought there pays before the wallet does: --max-price limits each call on it, and --max-per-day does not count it.

Example:
  $ svc mcp --url https://agent.example --max-price 0.05 --max-per-day 2 --wallet /home/me/wallet.txt`,
}).does(async flags => {
  const { maxPrice, maxPerDay, network = networkFromEnvironment() } = flags
  const url = required(flags.url, '--url')
  const mnemonic = await walletWords(flags.wallet)
  const keys = keysIn(taken('SVC_SUBSCRIPTION_KEY'))
  // Loaded here and not above, so that no other command loads it.
  const [{ SvcClient, memorySpendLedger }, { bridgeTo, toolServer, windowsBought }, { serveStdio }] =
    await Promise.all([
      import('../../src/client.js'),
      import('../../src/mcp-buyer/mcp-bridge.js'),
      import('@modelcontextprotocol/server/stdio'),
    ])
  const ledger = balanceFile(memorySpendLedger())
  const client = new SvcClient({ mnemonic, network, maxPrice, maxPerDay, ledger })
  const toolbox = await bridgeTo(url, client, name => keys.get(name) ?? keys.get(''))
  const isHeld = (await client.balances()).some(({ agent }) => agent.split('/')[2] === new URL(url).host)
  const windows = windowsBought(client)
  const call: typeof toolbox.call = async called => {
    const result = await toolbox.call(called)
    // At once: a host may kill this process before its end.
    note(...endLines({ payments: [], windows: windows.news() }).map(printable))
    return result
  }
  tellAtTheEnd(() => ({ payments: [...client.receipts], windows: windows.all() }))
  const broke = (cause: unknown) => note(printable(`svc: a tool broke: ${cause}`))
  const onerror = (cause: Error) => note(printable(`svc: ${cause.message}`))
  serveStdio(() => toolServer({ ...toolbox, call, version: packageFacts().version, broke }), { onerror })
  const wallet = client.address === undefined ? 'no wallet' : `paying from ${client.address}`
  note(
    printable(
      `svc: ${toolbox.tools.length} tools of ${url}, ${wallet}, at most $${maxPrice} a call and $${maxPerDay} a day, counted from now on${isHeld ? '; the balance there pays first, by no daily limit' : ''}`,
    ),
  )
})

/** Keys by the name of their tool. A key without a name is for every tool that sells windows. Such a key may end in `=`. */
function keysIn(given = ''): ReadonlyMap<string, string> {
  const words = given.split(/\s+/).filter(word => word !== '')
  return new Map(
    words.map(word => {
      const [, name = '', key = word] = /^([\w-]+)=([^=].*)$/.exec(word) ?? []
      return [name, key]
    }),
  )
}

/** When the host leaves while a call is being paid, the process ends after that call. A signal ends it at once. */
function tellAtTheEnd(end: () => PaymentEnd): void {
  void signalled().then(() => process.exit())
  process.once('exit', () => {
    const told = end()
    note(...endLines(told).map(printable))
    if (told.payments.some(({ charged }) => charged === 'maybe')) process.exitCode = EXIT.charged
  })
}
