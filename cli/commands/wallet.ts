/** `svc wallet`: makes a wallet, and readies one for USDC. The 25 words come from a file, the environment or standard input. */
import { open, rm } from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import { formatUsd, SvcError } from '../../src/domain/index.js'
import type { Holdings } from '../../src/wallet/index.js'
import { WALLET_OPTION } from '../arguments.js'
import { command } from '../define-command.js'
import { ALGOD_OPTION, NETWORK_OPTION, networkOfFlags, nodeOf } from '../networks.js'
import { columns, json, note, print, tell, whileWaiting } from '../output.js'

const makeNew = command({
  name: 'new',
  says: 'make a wallet on this machine; nothing is sent',
  flags: [
    ['--out <file>', 'write the words to a new file that only you can read, instead of printing them'],
    ['--json', 'print one JSON object'],
  ],
}).does(async ({ out, ...flags }) => {
  const { newWallet } = await import('../../src/wallet/index.js')
  const { address, mnemonic } = newWallet()
  if (out !== undefined) await writeSecret(out, mnemonic)
  const told = { address, ...(out === undefined ? { mnemonic } : { file: out }) }
  tell(flags, json(told), Object.entries(told))
  note(
    '',
    'Whoever has the 25 words has the money. Nobody can restore them: keep a copy where only you can read it.',
    'Before it can hold USDC, the account needs 0.201 ALGO and an opt-in: svc wallet optin',
  )
})

const printAddress = command({
  name: 'address',
  says: 'print the address of the wallet',
  flags: [WALLET_OPTION],
}).does(async ({ wallet }) => print(await ownAddress(wallet)))

const printBalance = command({
  name: 'balance',
  says: 'print what an account holds, and what it lacks for USDC',
  takes: [['[address]', 'the account (default: the one of the wallet)']],
  flags: [NETWORK_OPTION, ALGOD_OPTION, WALLET_OPTION, ['--json', 'print one JSON object']],
}).does(async (named, { algod, ...flags }) => {
  const network = networkOfFlags(flags)
  const address = named === undefined ? await ownAddress(flags.wallet) : await validAddress(named)
  const { holdingsOf } = await import('../../src/wallet/index.js')
  const holdings = await whileWaiting(
    `asking ${network.name}`,
    holdingsOf(network, address, nodeOf(network, algod)),
  )
  tell(flags, json(asJson(holdings)), await described(holdings))
})

const optWalletIn = command({
  name: 'optin',
  says: 'opt the wallet in to USDC: 0.001 ALGO for the network, and 0.1 ALGO that must stay in the account',
  flags: [
    NETWORK_OPTION,
    ALGOD_OPTION,
    WALLET_OPTION,
    ['--yes', 'do not ask on mainnet'],
    ['--json', 'print one JSON object'],
  ],
}).does(async ({ algod, yes, ...flags }) => {
  const network = networkOfFlags(flags)
  const { readKey } = await import('../wallet-words.js')
  const key = await readKey(flags.wallet)
  const { fundingFirst, holdingsOf, optIn } = await import('../../src/wallet/index.js')
  const node = nodeOf(network, algod)
  const before = await whileWaiting(`asking ${network.name}`, holdingsOf(network, key.address, node))
  if (before.shortOfMicroAlgos > 0n)
    throw new SvcError(fundingFirst(before.shortOfMicroAlgos), 'insufficient_algo')
  if (before.usdc === undefined && network.key === 'mainnet' && !yes) await asked(key.address)
  const txId =
    before.usdc === undefined
      ? await whileWaiting(`opting in on ${network.name}`, optIn(network, key, node))
      : undefined
  const told = json({ address: key.address, network: network.key, alreadyOptedIn: txId === undefined, txId })
  if (txId === undefined) tell(flags, told, [`${key.address} is opted in to USDC on ${network.name} already`])
  else
    tell(flags, told, [
      ['opted in', key.address],
      ['network', network.name],
      ['transaction', txId],
    ])
})

export const walletCommand = command({
  name: 'wallet',
  says: 'make a wallet, look into one, and opt in to USDC',
  help: `
The 25 words are read from the file of --wallet, else from SVC_MNEMONIC, else from standard input; a file that the shell opened
(< wallet.txt) goes before SVC_MNEMONIC. A line on stderr says which. They are never an argument.

Examples:
  $ svc wallet new --out wallet.txt
  $ svc wallet balance --wallet wallet.txt --network testnet
  $ svc wallet optin --wallet wallet.txt --network testnet`,
}).holds(makeNew, printAddress, printBalance, optWalletIn)

async function writeSecret(path: string, words: string): Promise<void> {
  const file = await open(path, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
    throw new SvcError(`${path} exists: a wallet is never overwritten`, 'file_exists')
  })
  try {
    await file.writeFile(`${words}\n`)
  } catch (cause) {
    // A full disk leaves a file without the words, which the next attempt would take for a wallet.
    await rm(path, { force: true })
    throw cause
  } finally {
    await file.close()
  }
}

async function asked(address: string): Promise<void> {
  if (!process.stdin.isTTY)
    throw new SvcError('On mainnet this costs ALGO: add --yes, or run it in a terminal', 'not_confirmed')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const question = `Opt ${address} in to USDC on mainnet, for 0.001 ALGO? [y/N] `
  // Ctrl-C and Ctrl-D are a no.
  const answer = await terminal.question(question).catch(() => 'no')
  terminal.close()
  if (!/^y(es)?$/i.test(answer.trim())) throw new SvcError('Nothing was sent', 'not_confirmed')
}

async function ownAddress(wallet: string | undefined): Promise<string> {
  const { readKey } = await import('../wallet-words.js')
  return (await readKey(wallet)).address
}

async function validAddress(text: string): Promise<string> {
  const { isValidAddress } = await import('../../src/wallet/index.js')
  if (isValidAddress(text)) return text
  throw new SvcError(`'${text}' is no Algorand address`, 'invalid_address')
}

async function described(holdings: Holdings): Promise<string[]> {
  const { algos } = await import('../../src/wallet/index.js')
  const { address, network, microAlgos, minBalanceMicroAlgos, usdc, missing } = holdings
  return columns([
    ['address', address],
    ['network', network.name],
    ['ALGO', `${algos(microAlgos)} (${algos(minBalanceMicroAlgos)} must stay)`],
    ['USDC', usdc === undefined ? 'not opted in' : formatUsd(usdc)],
    ...missing.map(what => ['missing', what] as const),
  ])
}

function asJson(holdings: Holdings) {
  const { address, isFrozen, missing, network, microAlgos, minBalanceMicroAlgos, shortOfMicroAlgos, usdc } =
    holdings
  const held = { microAlgos, minBalanceMicroAlgos, shortOfMicroAlgos, usdc: usdc ?? null }
  return { address, isFrozen, missing, network: network.key, ...held }
}
