/** The settings of a server: its options, read by their table, and what follows from several of them together. */
import { isValidAddress } from '../../../adapters/algorand/address.js'
import type { AgentDef } from '../../../domain/agent.js'
import { SvcError } from '../../../domain/errors.js'
import type { NetworkFacts } from '../../../domain/network.js'
import { networkFacts } from '../../../domain/network-definition.js'
import { invalid, readOptions, refuseOptions } from '../../../domain/option-checks.js'
import { isAddress } from '../../../domain/untrusted-text.js'
import { perMinute } from '../../../ports/counters.js'
import { silentLogger } from '../../../ports/logger.js'
import { rulesOf } from './charge-options.js'
import { type Remotes, remotesOf } from './remote-options.js'
import { type HandlerOptions, OPTIONS, type ServeOptions } from './server-options.js'

export type Settings = ReturnType<typeof settingsOf>

export type Warn = (message: string, fields?: object) => void

/** @throws SvcError `invalid_options`, `invalid_address` */
export function settingsOf(definition: AgentDef, options: HandlerOptions | ServeOptions) {
  if (!Array.isArray(definition?.endpoints)) throw invalid('The agent is what defineAgent returns')
  const { advanced, ...first } = readOptions(options, OPTIONS)
  const read = { ...first, ...advanced }
  const { facilitator, rateLimit, logger, payTo = definition.payTo } = read
  const network = networkFacts(read.network ?? definition.network, refuseOptions)
  // A seller without a logger still reads the console at start. These warnings are about losing money or callers.
  const warn: Warn = (message, fields = {}) =>
    logger === silentLogger ? console.warn(message) : logger.warn(fields, message)
  const largestBodyBytes = Math.max(
    read.maxBodyBytes,
    ...definition.endpoints.map(({ maxBodyBytes = 0 }) => maxBodyBytes),
  )
  return {
    ...read,
    ...reached(network, remotesOf(read, network), facilitator !== undefined),
    /** The agent as this deployment serves it. */
    agent: deployed(definition, network, payTo, warn),
    network,
    /** The largest body that any endpoint reads. */
    largestBodyBytes,
    maxUnpaidBodyBytes: unpaidBytesOf(largestBodyBytes, read.maxUnpaidBodyBytes),
    rules: { ...rulesOf(read), keepsMessages: read.audit.keepsMessages },
    rate: rateLimit && { terms: perMinute(rateLimit.perMinute), per: rateLimit.per },
    /** Whether answers are compared with their `output` schema: everywhere but in production. */
    checksAnswers: process.env.NODE_ENV !== 'production',
    /** Warns about an agent that has a mistake but can be served. */
    warn,
  }
}

function deployed(agent: AgentDef, network: NetworkFacts, payTo: string, warn: Warn): AgentDef {
  if (!isAddress(payTo)) {
    const message = `payTo is an Algorand address of 58 base32 characters, not '${payTo}'`
    throw new SvcError(message, 'invalid_address')
  }
  if (!isValidAddress(payTo))
    warn(`payTo ${payTo} is no address: its checksum does not hold, and nobody can pay it`)
  return { ...agent, network: network.given, payTo }
}

/** A parsed body takes up to 21 times its bytes (measured). This limit keeps that within 512 MiB. */
const UNPAID_BYTES_DEFAULT = 16_777_216
/** The default is at least this many times the largest body that any endpoint reads. */
const LARGEST_BODIES = 4

function unpaidBytesOf(largest: number, bytesMax: number | undefined): number {
  if (bytesMax === undefined) return Math.max(UNPAID_BYTES_DEFAULT, LARGEST_BODIES * largest)
  if (bytesMax >= 2 * largest) return bytesMax
  throw invalid(
    `maxUnpaidBodyBytes is at least ${2 * largest}, twice the largest body that is read, not ${bytesMax}`,
  )
}

/** A network of one's own comes without defaults: what a definition leaves out the options say. */
function reached({ name }: NetworkFacts, { algodUrl, ...others }: Remotes, isInProcess: boolean) {
  const missing = (option: string) => invalid(`There is no ${option} for ${name}: give one in the options`)
  if (algodUrl === undefined) throw missing('algodUrl')
  if (others.facilitatorsElsewhere.length === 0 && !isInProcess) throw missing('facilitatorUrl')
  return { algodUrl, ...others }
}
