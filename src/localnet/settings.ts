/** Where LocalNet is, and who pays there. AlgoKit's addresses and tokens, unless flags or the environment say others. */
import { SvcError } from '../domain/errors.js'
import { isWebUrl } from '../domain/untrusted-text.js'

export interface LocalnetFlags {
  readonly algod?: string
  readonly algodToken?: string
  readonly kmd?: string
  readonly kmdToken?: string
  readonly indexer?: string
  /** The user says that a node at a public address is of a private network. */
  readonly publicAddress?: boolean
}

export interface LocalnetSettings extends Required<Omit<LocalnetFlags, 'publicAddress'>> {
  /** The 25 words of an account with ALGO, for a node without kmd. */
  readonly mnemonic: string | undefined
  readonly publicAddress?: boolean
}

const ALGOKIT_TOKEN = 'a'.repeat(64)

/** @throws SvcError `invalid_url` */
export function localnetSettings(flags: LocalnetFlags = {}): LocalnetSettings {
  const { env } = process
  const mnemonic = env.SVC_LOCALNET_MNEMONIC || undefined
  // No child process and no crash report contains it.
  delete env.SVC_LOCALNET_MNEMONIC
  return {
    algod: url(flags.algod ?? env.SVC_LOCALNET_ALGOD, 4001),
    algodToken: flags.algodToken ?? (env.SVC_LOCALNET_ALGOD_TOKEN || ALGOKIT_TOKEN),
    kmd: url(flags.kmd ?? env.SVC_LOCALNET_KMD, 4002),
    kmdToken: flags.kmdToken ?? (env.SVC_LOCALNET_KMD_TOKEN || ALGOKIT_TOKEN),
    indexer: url(flags.indexer ?? env.SVC_LOCALNET_INDEXER, 8980),
    mnemonic,
    ...(flags.publicAddress && { publicAddress: true }),
  }
}

function url(given: string | undefined, usualPort: number): string {
  if (!given) return `http://localhost:${usualPort}`
  if (isWebUrl(given)) return given
  // Not shown: it may hold a password.
  throw new SvcError('algod, kmd and indexer are http or https URLs without a password', 'invalid_url')
}
