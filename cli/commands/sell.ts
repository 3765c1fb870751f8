/** `svc sell`: puts prices before a server that runs already, in any language. */
import { createHash } from 'node:crypto'
import { subscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { existsSync, readFileSync, watchFile } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { InvalidArgumentError } from 'commander'
import { SvcError } from '../../src/domain/index.js'
import type { EndpointDef } from '../../src/index.js'
import { redisStores } from '../../src/redis.js'
import { checkedTerms, type RouteTerms, sell, type Terms } from '../../src/sell.js'
import { hostArgument, portArgument, urlArgument, wholeArgument } from '../arguments.js'
import { command, type FlagsOf } from '../define-command.js'
import { callTold } from '../dev/print-reports.js'
import { ALGOD_OPTION, NETWORK_OPTION, networkFromEnvironment } from '../networks.js'
import { json, note, print, printable, STDERR_LOGGER } from '../output.js'
import { PACKAGE_FOLDER } from '../package.js'

const FLAGS = [
  ['--pay-to <address>', 'the Algorand address that is paid (default: SVC_PAY_TO)'],
  ['--price <route=usd>', "what a call costs: 'POST /v1/*=$0.01'; may be repeated", priceArgument],
  ['--free <route>', "lets a route through unpaid: 'GET /health'; may be repeated", freeArgument],
  ['--balance <usd>', "sell balances, which last 90 days: '$1,$5'", (text: string) => text.split(',')],
  ['--file <file>', 'the same in a file, read again when it changes (default, without a url: svc.sell.json)'],
  NETWORK_OPTION,
  ['--sandbox', 'sell for play money, on a sandbox beside it'],
  ['--port <port>', 'port (default: PORT, else 4021)', portArgument],
  ['--host <host>', 'address to listen on (default: every interface)', hostArgument],
  ['--facilitator <url>', 'the facilitator (default: the one that serve uses)', urlArgument],
  ALGOD_OPTION,
  ['--journal <file>', 'keep a journal, for svc audit and svc refunds'],
  [
    '--trust-proxy <count>',
    'how many proxies in front report the caller (default: 0)',
    wholeArgument(0, 99, 'It is a number of proxies.'),
  ],
  ['--json', 'print one line of JSON when it listens'],
] as const

export const sellCommand = command({
  name: 'sell',
  says: 'put prices before a server that runs already, in any language',
  takes: [['[url]', 'the server: an origin such as http://127.0.0.1:8000', urlArgument]],
  flags: FLAGS,
  help: `
Of the routes that a request matches, the most specific counts. What has no price is refused: 404. Answers are held until they are paid
for; 4xx and 5xx of the server cost nothing. Retries under an Idempotency-Key get the answer that was paid for. The server gets
x-svc-payer, x-svc-tx-id and x-svc-idempotency-key. REDIS_URL shares payments among replicas; SVC_AUDIT=1 serves the audit page.
A change of the file, or SIGHUP, loads its terms; calls at work end by those that they began with.

Examples:
  $ svc sell http://127.0.0.1:8000 --sandbox --price 'POST /v1/*=$0.01' --price 'GET /reports/:id=$0.05' --free 'GET /health'
  $ svc sell --file svc.sell.json --pay-to ADDRESS --network mainnet`,
}).does(async (url, flags) => {
  const local = flags.sandbox
    ? await (await import('../dev/local-network.js')).startSandboxNetwork()
    : undefined
  Object.assign(process.env, local?.environment)
  const { REDIS_URL: redisUrl } = process.env
  const file = flags.file ?? (url === undefined ? 'svc.sell.json' : undefined)
  const termsNow = () => termsOf(url, flags, file)
  const stores = redisUrl ? redisStores(redisUrl, { logger: STDERR_LOGGER }) : undefined
  const close = () => Promise.allSettled([stores?.close(), local?.close()])
  let begun: ReturnType<typeof sell> | undefined
  try {
    const terms = termsNow()
    const { payTo, upstream, routes } = terms
    let isListening = false
    const server = sell(terms, {
      idempotency: { onLostResponse: 'replay' },
      logger: STDERR_LOGGER,
      port: flags.port,
      host: flags.host,
      facilitatorUrl: flags.facilitator,
      algodUrl: flags.algod,
      journal: flags.journal,
      trustProxy: flags.trustProxy,
      ...(stores && { stores }),
      onReady() {},
      async onShutdown({ outcome }) {
        await close()
        if (isListening) process.exit(outcome === 'drained' ? 0 : 1)
      },
    })
    begun = server
    await once(server, 'listening')
    isListening = true
    const { port } = server.address() as AddressInfo
    const own = `http://127.0.0.1:${port}`
    if (flags.json) print(json({ url: own, payTo, upstream, routes, ...local?.told }))
    else tell(own, terms, local?.exports ?? [])
    if (file === undefined) return
    const reload = () => {
      try {
        server.reload(termsNow())
        note(`svc sell: ${printable(file)} was read again`)
      } catch (error) {
        note(`svc sell: ${printable((error as Error).message)}; the terms stay as they were`)
      }
    }
    process.on('SIGHUP', reload)
    // By its path: a ConfigMap is a link whose folder changes, and no event names the file.
    watchFile(file, { interval: 500 }, reload)
  } catch (error) {
    // Before the sandbox, whose end it would tell of.
    await begun?.shutdown()
    await close()
    throw error
  }
})

function termsOf(url: string | undefined, flags: FlagsOf<typeof FLAGS>, file: string | undefined): Terms {
  const schema = JSON.parse(readFileSync(join(PACKAGE_FOLDER, 'docs/svc.sell.schema.json'), 'utf8'))
  if (file !== undefined && flags.file === undefined && !existsSync(file))
    throw new SvcError(
      `Name the server that runs, or write ${file}: svc sell --help has both`,
      'file_unusable',
    )
  const given: Partial<Terms> & Pick<Terms, 'routes'> =
    file === undefined ? { routes: [] } : checkedTerms(readFileSync(file, 'utf8'), schema, file)
  const upstream = url ?? given.upstream
  const payTo = flags.payTo ?? given.payTo ?? process.env.SVC_PAY_TO
  if (!payTo) throw new SvcError('Name who is paid: --pay-to, or SVC_PAY_TO, or --sandbox', 'invalid_address')
  const host = upstream === undefined ? 'several' : new URL(upstream).host
  return {
    name: 'Paid server',
    // Another server's windows and kept answers are not this one's, and strangers do not read where it is.
    handle: `sell-${createHash('sha256').update(host).digest('hex').slice(0, 12)}`,
    description: 'Sold by svc sell.',
    ...given,
    ...(upstream !== undefined && { upstream }),
    ...(flags.balance && { balance: { amounts: flags.balance, period: '90d' } }),
    payTo,
    network: flags.network ?? given.network ?? networkFromEnvironment(),
    routes: [...given.routes, ...(flags.price ?? []), ...(flags.free ?? [])],
  }
}

function tell(url: string, terms: Terms, exports: readonly string[]): void {
  const { routes, payTo, upstream } = terms
  const priced = routes.map(({ route, price, subscription, free }) => {
    const cost = free ? 'free' : (price ?? `${subscription?.price} for ${subscription?.period}`)
    return `  ${printable(`${route}  ${cost}`)}`
  })
  const what = printable(upstream ?? 'several servers')
  print(`Selling ${what} on ${url}, paid to ${printable(payTo)}`, ...priced)
  if (exports.length > 0) print('', 'Paste this where a caller runs:', '', ...exports)
  subscribe('svc.call.ended', message => {
    const { endpoint, call } = message as { endpoint: EndpointDef; call: object }
    const { method, name, path = `/${name}` } = endpoint
    note(callTold({ ...call, method, path } as never))
  })
}

function priceArgument(text: string, before: readonly RouteTerms[] = []): readonly RouteTerms[] {
  const equals = text.lastIndexOf('=')
  if (equals < 1) throw new InvalidArgumentError("It is METHOD /path=price, such as 'POST /v1/*=$0.01'.")
  return [...before, { route: text.slice(0, equals).trim(), price: text.slice(equals + 1).trim() }]
}

function freeArgument(text: string, before: readonly RouteTerms[] = []): readonly RouteTerms[] {
  return [...before, { route: text.trim(), free: true }]
}
