/** USDC and three accounts on LocalNet, with the money that they should have. What is there already is not sent again. */
import { createHash } from 'node:crypto'
import {
  assignGroupID,
  Kmd,
  makeAssetCreateTxnWithSuggestedParamsFromObject,
  makeAssetTransferTxnWithSuggestedParamsFromObject,
  makePaymentTxnWithSuggestedParamsFromObject,
  SignedTransaction,
  type Transaction,
} from 'algosdk'
import { algodOver } from '../adapters/algorand/algod-and-indexer.js'
import { type NodeClient, type PostingNodeClient, uint64In } from '../adapters/algorand/ask-node.js'
import {
  mnemonicOf,
  type SigningKey,
  signingKey,
  signingKeyFromSeed,
} from '../adapters/algorand/signing-keys.js'
import { causeOf } from '../app/client/http-reply.js'
import { SvcError } from '../domain/errors.js'
import { type NetworkFacts, USDC_DECIMALS } from '../domain/network.js'
import { isRecord, listIn } from '../domain/x402.js'
import { facilitatorNode } from '../facilitator/facilitator-node.js'
import { wakefulClock, withTimeout } from '../ports/clock.js'
import type { SandboxAccount } from '../sandbox/sandbox-options.js'
import { FEE_MICRO_ALGOS, optInOf, ownParams, sendGroup } from '../wallet/send.js'
import type { LocalnetSettings } from './settings.js'

const WANTED = {
  buyer: { microAlgos: 10_000_000n, usdc: 100_000_000n },
  seller: { microAlgos: 1_000_000n, usdc: 0n },
  sponsor: { microAlgos: 100_000_000n, usdc: undefined },
} as const

/** A node prints whole accounts. */
const WORDS_MAX = 200

type Label = keyof typeof WANTED
const LABELS = Object.keys(WANTED) as Label[]

export type LocalnetAccounts = Readonly<Record<Label, Pick<SandboxAccount, 'address' | 'mnemonic'>>>

interface Step {
  readonly txn: Transaction
  readonly by: SigningKey
}

/**
 * The accounts follow from the funder's key: the same at every start, others on another LocalNet. Only the holder of that key can
 * compute them. So there is no file to keep.
 */
function seedOf(funder: SigningKey, label: Label): Buffer {
  // An ed25519 signature of one text is always the same one.
  return createHash('sha256')
    .update(funder.sign(Buffer.from(`svc localnet: ${label}`)))
    .digest()
}

/** @throws SvcError `node_unavailable`, `localnet_refused` */
export async function usdcOn(
  network: NetworkFacts,
  client: PostingNodeClient,
  funder: SigningKey,
): Promise<number> {
  const made = async () => usdcMadeBy(await client.get(`/v2/accounts/${funder.address}`))
  const known = await made()
  if (known !== undefined) return known
  const node = facilitatorNode(client)
  const { lastRound } = await node.suggestedParams()
  const sender = funder.address
  const txn = makeAssetCreateTxnWithSuggestedParamsFromObject({
    ...{ sender, unitName: 'USDC', assetName: 'USDC of svc localnet', decimals: USDC_DECIMALS },
    ...{ total: 2n ** 64n - 1n, defaultFrozen: false, manager: sender, reserve: sender, freeze: sender },
    suggestedParams: ownParams(network, lastRound),
  })
  await landed(client, [{ txn, by: funder }])
  // Read again instead of from the answer: of two first starts at once, both use the older asset.
  const created = await made()
  if (created !== undefined) return created
  throw new SvcError('LocalNet does not show the USDC that it has just made', 'localnet_refused')
}

/** @throws SvcError `node_unavailable`, `localnet_refused` */
export async function fundedAccounts(
  network: NetworkFacts,
  client: PostingNodeClient,
  funder: SigningKey,
): Promise<LocalnetAccounts> {
  const accounts = {} as { -readonly [L in Label]: LocalnetAccounts[L] }
  const algod = algodOver(client)
  const { lastRound } = await algod.suggestedParams()
  const suggestedParams = ownParams(network, lastRound)
  const sender = funder.address
  const [pay, join, give]: [Step[], Step[], Step[]] = [[], [], []]
  for (const label of LABELS) {
    const seed = seedOf(funder, label)
    const key = signingKeyFromSeed(seed)
    const { address } = key
    accounts[label] = { address, mnemonic: mnemonicOf(seed) }
    const { microAlgos, usdc } = WANTED[label]
    const held = await algod.account(address)
    const holding = usdc === undefined ? undefined : await algod.assetHolding(address, network.usdc)
    const joins = usdc !== undefined && !holding
    const short = microAlgos + (joins ? FEE_MICRO_ALGOS : 0n) - held.microAlgos
    const shortOfUsdc = (usdc ?? 0n) - (holding?.amount ?? 0n)
    const to = { sender, receiver: address, suggestedParams }
    if (short > 0n)
      pay.push({ txn: makePaymentTxnWithSuggestedParamsFromObject({ ...to, amount: short }), by: funder })
    if (joins) join.push({ txn: optInOf(address, network.usdc, suggestedParams), by: key })
    if (shortOfUsdc > 0n) {
      const transfer = { ...to, amount: shortOfUsdc, assetIndex: network.usdc }
      give.push({ txn: makeAssetTransferTxnWithSuggestedParamsFromObject(transfer), by: funder })
    }
  }
  const steps = [...pay, ...join, ...give]
  if (steps.length > 0) await landed(client, steps)
  return accounts
}

async function landed(client: PostingNodeClient, steps: readonly Step[]): Promise<void> {
  if (steps.length > 1) assignGroupID(steps.map(({ txn }) => txn))
  const group = steps.map(({ txn, by }) => new SignedTransaction({ txn, sig: by.sign(txn.bytesToSign()) }))
  const landing = await sendGroup(facilitatorNode(client), group)
  if (landing.is === 'landed') return
  const words = landing.is === 'refused' ? landing.words : (landing.dropped ?? 'it has not been seen to land')
  const message = `LocalNet did not take ${landing.txId}: ${words.slice(0, WORDS_MAX)}`
  throw new SvcError(message, 'localnet_refused')
}

const WALLET = 'unencrypted-default-wallet'
const PASSWORD = ''
const KMD_TIMEOUT_MS = 5_000

/** @throws SvcError `invalid_key`, `kmd_unavailable`, `node_unavailable` */
export async function funderOf(
  { mnemonic, kmd: kmdUrl, kmdToken }: LocalnetSettings,
  node: Pick<NodeClient, 'get'>,
): Promise<SigningKey> {
  if (mnemonic !== undefined) return signingKey(mnemonic)
  const kmd = new Kmd(kmdToken, kmdUrl, new URL(kmdUrl).port)
  const asked = <T>(answer: Promise<T>) => answered(answer, kmdUrl)
  const { wallets } = await asked(kmd.listWallets())
  const wallet = listIn(wallets)
    .filter(isRecord)
    .find(({ name }) => name === WALLET)
  if (!wallet) throw unavailable(kmdUrl, `it has no ${WALLET}`)
  const { wallet_handle_token: handle } = await asked(kmd.initWalletHandle(String(wallet.id), PASSWORD))
  try {
    const { addresses } = await asked(kmd.listKeys(handle))
    const address = await dispenserAmong(Array.isArray(addresses) ? addresses.map(String) : [], node)
    if (address === undefined) throw unavailable(kmdUrl, `${WALLET} has no account`)
    const { private_key: secretKey } = await asked(kmd.exportKey(handle, PASSWORD, address))
    return signingKey(secretKey)
  } finally {
    await asked(kmd.releaseWalletHandle(handle)).catch(() => {})
  }
}

/** The account that made USDC before, so that every start uses the same one; else the richest. */
async function dispenserAmong(
  addresses: readonly string[],
  node: Pick<NodeClient, 'get'>,
): Promise<string | undefined> {
  const found = await Promise.all(
    addresses.map(async address => {
      const account = await node.get(`/v2/accounts/${encodeURIComponent(address)}`)
      return { address, microAlgos: uint64In(account, 'amount'), hasUsdc: usdcMadeBy(account) !== undefined }
    }),
  )
  const [first] = found.sort(
    (a, b) =>
      Number(b.hasUsdc) - Number(a.hasUsdc) ||
      Number(b.microAlgos - a.microAlgos) ||
      (a.address < b.address ? -1 : 1),
  )
  return first?.address
}

/** The number of the USDC that this account made; the oldest where there are several. */
function usdcMadeBy(account: Readonly<Record<string, unknown>>): number | undefined {
  const ids = listIn(account['created-assets'])
    .filter(isRecord)
    .flatMap(({ index, params }) =>
      isRecord(params) && params['unit-name'] === 'USDC' && params.decimals === USDC_DECIMALS
        ? Number(index)
        : [],
    )
  return ids.length === 0 ? undefined : Math.min(...ids)
}

/** algosdk's client of kmd waits for ever. */
function answered<T>(answer: Promise<T>, url: string): Promise<T> {
  return withTimeout(wakefulClock, KMD_TIMEOUT_MS, answer, 'no answer in time').catch(error => {
    throw unavailable(url, causeOf(error))
  })
}

function unavailable(url: string, why: string): SvcError {
  const cure = 'give its address, or the words of an account with ALGO in SVC_LOCALNET_MNEMONIC'
  return new SvcError(`kmd at ${url} cannot be used: ${why}; ${cure}`, 'kmd_unavailable')
}
