/** Who pays on LocalNet: the account whose words are given, or an account of kmd's wallet, which every LocalNet has. */
import { Kmd } from 'algosdk'
import { type NodeClient, uint64In } from '../adapters/algorand/node-response-reader.js'
import { type SigningKey, signingKey } from '../adapters/algorand/signing-keys.js'
import { SvcError } from '../domain/errors.js'
import { USDC_DECIMALS } from '../domain/network.js'
import { isRecord } from '../domain/x402.js'
import { wakefulClock } from '../ports/clock.js'
import { withTimeout } from '../ports/timeouts-and-aborts.js'
import type { LocalnetSettings } from './settings.js'

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
  const wallet = listIn(wallets).find(({ name }) => name === WALLET)
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
export function usdcMadeBy(account: Readonly<Record<string, unknown>>): number | undefined {
  const ids = listIn(account['created-assets']).flatMap(({ index, params }) =>
    isRecord(params) && params['unit-name'] === 'USDC' && params.decimals === USDC_DECIMALS
      ? Number(index)
      : [],
  )
  return ids.length === 0 ? undefined : Math.min(...ids)
}

function listIn(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : []
}

/** algosdk's client of kmd waits for ever. */
function answered<T>(answer: Promise<T>, url: string): Promise<T> {
  return withTimeout(wakefulClock, KMD_TIMEOUT_MS, answer, 'no answer in time').catch(error => {
    throw unavailable(url, wordsOf(error))
  })
}

/** fetch names its reason in `cause`. */
function wordsOf(error: unknown): string {
  const { message, cause } = error as Error
  return cause instanceof Error && cause.message ? cause.message : message
}

function unavailable(url: string, why: string): SvcError {
  const cure = 'give its address, or the words of an account with ALGO in SVC_LOCALNET_MNEMONIC'
  return new SvcError(`kmd at ${url} cannot be used: ${why}; ${cure}`, 'kmd_unavailable')
}
