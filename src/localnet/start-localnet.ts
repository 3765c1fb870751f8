/**
 * Makes a LocalNet ready to sell and to pay on: USDC, a buyer, a seller, a sponsor, and a facilitator in this process. What it
 * makes on the chain stays there, and is found again at the next start.
 */
import { lookup } from 'node:dns/promises'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { exchangeTo } from '#platform'
import { type NodeClient, nodeClient, textIn } from '../adapters/algorand/ask-node.js'
import { isPublicAddress } from '../adapters/outbound/guarded-fetch.js'
import { SvcError } from '../domain/errors.js'
import { jsonIn } from '../domain/json.js'
import { MAINNET, type NetworkDefinition, TESTNET } from '../domain/network.js'
import { networkFacts } from '../domain/network-definition.js'
import { isRecord } from '../domain/x402.js'
import { createFacilitator } from '../facilitator/create-facilitator.js'
import { type ServedFacilitator, serveFacilitator } from '../facilitator/serve-facilitator.js'
import type { Logger } from '../ports/logger.js'
import { fundedAccounts, funderOf, type LocalnetAccounts, usdcOn } from './accounts.js'
import type { LocalnetSettings } from './settings.js'

export interface Localnet extends LocalnetAccounts {
  readonly definition: NetworkDefinition
  /** The file with the definition, for `--network` and `SVC_NETWORK`. */
  readonly file: string
  close(): Promise<void>
}

export interface LocalnetOptions {
  readonly settings: LocalnetSettings
  /** @default 4403, or any where it is taken */
  readonly port?: number | undefined
  /** The file that the definition is written to. */
  readonly out: string
  /** Of the facilitator. @default silent */
  readonly logger?: Logger
}

const USUAL_PORT = 4403
/** Its money is play money, and load tests shall not be stopped by what protects real money. */
const FEE_PER_DAY_MAX = 100_000_000
const PER_MINUTE = 1_000_000
const INDEXER_TIMEOUT_MS = 2_000
const HEALTH_BYTES_MAX = 65_536

/** @throws SvcError `node_unavailable`, `kmd_unavailable`, `invalid_network`, `invalid_key`, `localnet_refused`, `file_exists` */
export async function startLocalnet({ settings, port, out, logger }: LocalnetOptions): Promise<Localnet> {
  const { genesis, usdc, accounts } = await prepared(settings)
  const { algod: algodUrl, algodToken } = settings
  const network = { name: 'localnet', ...genesis, usdc, algodUrl, algodToken }
  const facilitator = createFacilitator({
    ...{ network, algodUrl, algodToken, payTo: 'anyone', feePerDayMax: FEE_PER_DAY_MAX },
    sponsor: { mnemonic: accounts.sponsor.mnemonic },
    logger,
  })
  const serve = (at: number) =>
    serveFacilitator(facilitator, {
      ...{ port: at, host: '127.0.0.1' },
      options: { perMinute: PER_MINUTE, logger },
    })
  const served = await nearUsualPort(serve, port)
  const definition = {
    ...network,
    ...((await answers(settings.indexer)) && { indexerUrl: settings.indexer }),
    facilitatorUrl: served.url,
  }
  try {
    return { ...accounts, definition, file: await writeDefinition(out, definition), close: served.close }
  } catch (error) {
    await served.close()
    throw error
  }
}

async function prepared(settings: LocalnetSettings) {
  const client = nodeClient({ url: settings.algod, token: settings.algodToken })
  try {
    const genesis = await privateGenesis(client, settings)
    const of = (usdc: number) =>
      networkFacts({ name: 'localnet', ...genesis, usdc }, why => {
        throw new SvcError(`The node at ${settings.algod}: ${why}`, 'invalid_network')
      })
    // USDC's number is known last. All else of the network is checked before a key is asked for.
    const unnumbered = of(1)
    const funder = await funderOf(settings, client)
    const usdc = await usdcOn(unnumbered, client, funder)
    return { genesis, usdc, accounts: await fundedAccounts(of(usdc), client, funder) }
  } finally {
    await client.close()
  }
}

async function nearUsualPort(
  serve: (port: number) => Promise<ServedFacilitator>,
  port: number | undefined,
): Promise<ServedFacilitator> {
  if (port !== undefined) return serve(port)
  try {
    return await serve(USUAL_PORT)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    return serve(0)
  }
}

/** A node without an indexer is enough to sell and to pay. */
async function answers(indexerUrl: string): Promise<boolean> {
  const indexer = exchangeTo(indexerUrl, { connectionsMax: 1, bytesMax: HEALTH_BYTES_MAX })
  const asked = { method: 'GET', path: '/health', headers: {}, timeoutMs: INDEXER_TIMEOUT_MS } as const
  const reply = await indexer.send(asked)
  await indexer.destroy()
  return 'status' in reply && reply.status === 200
}

/**
 * Writes the definition where it is not written yet: an agent that `svc dev` runs starts anew when a JSON file beside it changes.
 * The file is for its owner alone, because it has the token of the node.
 *
 * @returns the absolute path
 * @throws SvcError `file_exists`
 */
export async function writeDefinition(out: string, definition: NetworkDefinition): Promise<string> {
  const path = resolve(out)
  const text = `${JSON.stringify(definition, undefined, 2)}\n`
  const before = await readFile(path, 'utf8').catch(() => undefined)
  if (before === text) return path
  const known = before === undefined ? undefined : jsonIn(before)
  const isOurs = isRecord(known) && known.name === 'localnet' && 'genesisHash' in known
  if (before !== undefined && !isOurs)
    throw new SvcError(`${path} exists, and does not define localnet: name another file`, 'file_exists')
  await writeFile(path, text, { mode: 0o600 })
  // A file that was there keeps its mode.
  await chmod(path, 0o600)
  return path
}

/** Ids of public networks: Algorand's, and those of others that run its software. */
const PUBLIC_ID = /^((main|test|beta|f)net|(voi|aramid)(main|test))-/i

/** @throws SvcError `node_unavailable`, `invalid_network` */
export async function privateGenesis(
  node: Pick<NodeClient, 'get'>,
  { algod: url, publicAddress = false }: Pick<LocalnetSettings, 'algod' | 'publicAddress'>,
): Promise<Pick<NetworkDefinition, 'genesisId' | 'genesisHash'>> {
  const unanswered = (error: unknown): never => {
    const why = error instanceof Error ? error.message : String(error)
    const cure =
      'start AlgoKit LocalNet with: algokit localnet start (https://dev.algorand.co/algokit/cli/localnet)'
    throw new SvcError(`No LocalNet at ${url}; ${cure}. ${why}`, 'node_unavailable', 503)
  }
  // No list of names is complete: anybody can start a public network of this software.
  const publicOne = publicAddress ? undefined : await publicAddressOf(url).catch(unanswered)
  if (publicOne !== undefined)
    throw new SvcError(
      `The node at ${url} has a public address (${publicOne}): if its network is your own, add --public-address to svc localnet`,
      'invalid_network',
    )
  const body = await node.get('/v2/transactions/params').catch(unanswered)
  const genesis = { genesisId: textIn(body, 'genesis-id'), genesisHash: textIn(body, 'genesis-hash') }
  const isPublic = [MAINNET, TESTNET].some(({ genesisHash }) => genesisHash === genesis.genesisHash)
  if (!isPublic && !PUBLIC_ID.test(genesis.genesisId)) return genesis
  throw new SvcError(
    `The node at ${url} is of the public network ${genesis.genesisId}: this works on a LocalNet only`,
    'invalid_network',
  )
}

async function publicAddressOf(url: string): Promise<string | undefined> {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '')
  const found = await lookup(host, { all: true })
  return found.map(({ address }) => address).find(isPublicAddress)
}
