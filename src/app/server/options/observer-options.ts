/** The options of those who watch the calls. None of them can change or delay a call. */
import { loggerOrSilent } from '../../../adapters/log/quiet-logger.js'
import {
  asGiven,
  flag,
  holding,
  hostNames,
  invalid,
  type Option,
  positive,
  readOptions,
  secretToken,
  such,
} from '../../../domain/option-checks.js'
import { isText } from '../../../domain/untrusted-text.js'
import type { Logger } from '../../../ports/logger.js'
import type { HealthCheck } from '../health.js'

/** The options of {@link ServerOptions} for those who watch the calls. */
export interface ObserverOptions {
  /** How many runs `/_svc/runs` shows. @default 100 */
  readonly runsCapacity?: number
  /**
   * Checks that run at `GET /health`, all at once, each for at most two seconds. A check that returns `false`, throws
   * or takes longer makes health 503, and the answer names it. Check only what a restart can cure: an unhealthy process is restarted.
   *
   * @default none
   *
   * @example
   * healthChecks: { worker: () => worker.isRunning }
   */
  readonly healthChecks?: Readonly<Record<string, HealthCheck>>
  /**
   * Public host names, such as `ops.example.com`, under which `/metrics` and `/_svc/runs` answer. IP addresses, names
   * without a dot, and names of inner networks need not be listed. Pages of other sites are refused under any name.
   *
   * @default none
   */
  readonly operationsHosts?: readonly string[]
  /**
   * Webhooks that receive each settled payment, signed as Standard Webhooks and retried for some minutes. Never an
   * accounting record.
   *
   * @default none
   */
  readonly webhooks?: readonly WebhookOptions[]
  /**
   * Any pino-compatible logger. It receives a line for each ended call, and all warnings and errors. It never
   * receives bodies or payment headers.
   *
   * @default silent, except for warnings at start, which go to the console
   */
  readonly logger?: Logger
  /**
   * Serves the page `/_svc/audit` to this machine only. With a token of at least 16 characters, serves it to every
   * client that presents the token as the password. Behind a proxy on the same machine, set a token or do not forward
   * `/_svc/`.
   *
   * @default whether the environment variable `SVC_AUDIT` is `1`, as `svc dev` sets it
   */
  readonly audit?:
    | boolean
    | {
        /** The password, 16 or more visible ASCII characters. */
        readonly token: string | undefined
        /**
         * Whether the page shows what handlers threw and logged: it may hold secrets, and nothing else gets it.
         * @default in development alone: under `svc dev`, and where `NODE_ENV` is `development`
         */
        readonly messages?: boolean
      }
  /**
   * Appends to this file a line for each call that charged or may have charged, and once a minute the number of the other calls: for
   * `svc audit` and for accountants. The file names payers. It is renamed with a number when it is large; when all files together
   * reach `maxBytes`, **the oldest is deleted**, with a warning in the log where `svc audit` never read it. One process writes to
   * one file, and `<path>.lock` marks it. A file that cannot be locked (`journal_locked`) or written (`journal_unwritable`) is
   * refused at start.
   *
   * @default off
   */
  readonly journal?:
    | string
    | {
        /** The file's path. */
        readonly path: string
        /** The largest size of all files together, in bytes: about 380,000 charges by default. @default 268435456 */
        readonly maxBytes?: number
      }
}

/** The receiver of messages about settled payments, and the secret that signs them. */
export interface WebhookOptions {
  /** The receiver's URL, http or https. The seller decides whether the network is private enough for http. */
  readonly url: string
  /** `whsec_` and base64 of 24 to 64 bytes, shared with the receiver. */
  readonly secret: string
}

type AuditOptions = Exclude<ObserverOptions['audit'], boolean | undefined>
type JournalOptions = Exclude<ObserverOptions['journal'], string | undefined>

const healthChecks: Option<Readonly<Record<string, HealthCheck>>> = given => {
  const checks = (given ?? {}) as Readonly<Record<string, HealthCheck>>
  for (const [name, check] of Object.entries(checks))
    if (typeof check !== 'function') throw invalid(`The health check '${name}' is not a function`)
  return checks
}

const WEBHOOK = {
  url: asGiven<string>(),
  secret: asGiven<string>(),
} satisfies Record<keyof WebhookOptions, Option<unknown>>

/** What a URL and a secret may be is checked where they are used. */
const webhooks = holding(WEBHOOK, (given, name): readonly WebhookOptions[] =>
  [(given ?? []) as WebhookOptions | readonly WebhookOptions[]]
    .flat()
    .map(each => readOptions(each, WEBHOOK, name)),
)

export interface AuditTerms {
  /** To whom the page is served beside this machine; absent where it is not served. */
  readonly page: { readonly token: string | undefined } | undefined
  /** Whether calls keep for it what handlers threw and logged. */
  readonly keepsMessages: boolean
}

const isDevelopment = () => process.env.SVC_DEV === '1' || process.env.NODE_ENV === 'development'

const AUDIT = {
  token: secretToken,
  messages: (given, name) => flag(isDevelopment())(given, name),
} satisfies Record<keyof AuditOptions, Option<unknown>>

const audit = holding(AUDIT, (given = process.env.SVC_AUDIT === '1', name): AuditTerms => {
  if (typeof given === 'boolean')
    return { page: given ? { token: undefined } : undefined, keepsMessages: given && isDevelopment() }
  const { token, messages } = readOptions(given as AuditOptions, AUDIT, name)
  return { page: { token }, keepsMessages: messages }
})

const JOURNAL = {
  path: such<string>(isText, 'the path of a file'),
  maxBytes: positive(256 * 1024 * 1024),
} satisfies Record<keyof JournalOptions, Option<unknown>>

const journal = holding(JOURNAL, (given, name): Required<JournalOptions> | undefined => {
  if (given === undefined) return undefined
  return readOptions(typeof given === 'string' ? { path: given } : (given as JournalOptions), JOURNAL, name)
})

export const OBSERVER_OPTIONS = {
  runsCapacity: positive(100),
  healthChecks,
  operationsHosts: hostNames,
  webhooks,
  logger: loggerOrSilent,
  audit,
  journal,
} satisfies Record<keyof ObserverOptions, Option<unknown>>
