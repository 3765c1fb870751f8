/** Reads an agent's offer from its manifest, and prints it with a first call that can be pasted into a shell. */
import {
  type Manifest,
  type ManifestEndpoint,
  type Network,
  priceOf,
  SvcClient,
  SvcError,
} from '../../src/client.js'
import { examplesOf, shellWord, windowShown } from '../../src/domain/index.js'
import { printable } from '../output.js'

const client = new SvcClient({ retry: false })

export interface Offer {
  readonly url: string
  readonly manifest: Manifest
  readonly call?: FirstCall
  readonly auditUrl?: string
}

export interface FirstCall {
  readonly url: string
  /** JSON; absent for a GET. */
  readonly body?: string
  readonly price: string
}

export interface Asking {
  readonly network?: Network | undefined
  /** The endpoint to be called. @default the first that has an example */
  readonly only?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  /** Where another app may mount the agent, in the order of asking. @default the root */
  readonly prefixes?: readonly string[]
}

export async function offerAt(port: number, asking: Asking = {}): Promise<Offer | undefined> {
  const [prefix = '', ...others] = asking.prefixes ?? []
  const url = `http://127.0.0.1:${port}${prefix}`
  const manifest = await manifestAt(url)
  if (!manifest) return others.length > 0 ? offerAt(port, { ...asking, prefixes: others }) : undefined
  const auditUrl = `${url}/_svc/audit`
  const hasAudit = await fetch(auditUrl).then(
    ({ ok }) => ok,
    () => false,
  )
  const call = (await firstCallOf(manifest, url, asking)) ?? callToFillIn(manifest, url)
  return { url, manifest, ...(hasAudit && { auditUrl }), ...(call && { call }) }
}

/** An example is JSON: what takes text or bytes, as the routes of gates may, gets its body from the reader. */
function callToFillIn(manifest: Manifest, agentUrl: string): FirstCall | undefined {
  const found = ownEndpoints(manifest, agentUrl).find(({ bodyType }) => bodyType !== undefined)
  const { url, method, price = '' } = found ?? {}
  if (url === undefined || !/^\$[\d.]+$/.test(price)) return undefined
  return { url, price: price.slice(1), ...(method === 'POST' && { body: '<its input>' }) }
}

/** Skips endpoints at other origins: the shown call, and the test of it here, go only to the agent that was asked. */
function ownEndpoints({ endpoints }: Manifest, agentUrl: string): readonly ManifestEndpoint[] {
  const isOwn = (url: string) => URL.canParse(url) && new URL(url).origin === new URL(agentUrl).origin
  return endpoints.filter(({ url, method }) => isOwn(url) && (method === 'GET' || method === 'POST'))
}

export function manifestAt(url: string): Promise<Manifest | undefined> {
  return client.discover(url).catch(() => undefined)
}

async function firstCallOf(manifest: Manifest, url: string, asking: Asking): Promise<FirstCall | undefined> {
  for (const endpoint of ownEndpoints(manifest, url)) {
    const { only = endpoint.name } = asking
    if (endpoint.name !== only || (!asking.only && endpoint.bodyType !== undefined)) continue
    const call = await exampleCall(endpoint, asking)
    if (call) return call
  }
  return undefined
}

/** The agent itself checks an example: if it quotes a price for it, the example is valid. */
async function exampleCall(
  endpoint: ManifestEndpoint,
  { network, headers }: Asking,
): Promise<FirstCall | undefined> {
  const { url, method, input } = endpoint
  for (const example of examplesOf(input)) {
    const isGet = method === 'GET'
    const asked = isGet ? `${url}${queryOf(example)}` : url
    const quote = await client
      .quote(asked, isGet ? undefined : example, { method, headers })
      .catch(() => undefined)
    const usd = quote?.paymentRequired ? priceOf(quote.requirements, network) : null
    if (usd !== null)
      return { url: asked, price: plain(usd), ...(!isGet && { body: JSON.stringify(example) }) }
  }
  return undefined
}

function queryOf(example: unknown): string {
  const entries = Object.entries(example ?? {}).map(([name, value]): [string, string] => [
    name,
    String(value),
  ])
  return entries.length > 0 ? `?${new URLSearchParams(entries)}` : ''
}

/** Writes `0.000001`, where a number would print as `1e-6`. */
function plain(usd: number): string {
  return usd.toFixed(6).replace(/0+$/, '').replace(/\.$/, '')
}

/** The endpoint's with this body, else the first that the agent gives an example of. */
export async function targetAt(
  agentUrl: string,
  network: Network,
  { endpoint, body }: { readonly endpoint?: string; readonly body?: string },
): Promise<Pick<FirstCall, 'url' | 'body'>> {
  const url = agentUrl.replace(/\/+$/, '')
  const manifest = await manifestAt(url)
  if (!manifest)
    throw new SvcError(
      `No agent answers at ${url}: start it with svc dev --sandbox, or name its URL`,
      'network_error',
    )
  const named = manifest.endpoints.find(({ name }) => endpoint === undefined || name === endpoint)
  if (!named) throw new SvcError(`The agent at ${url} sells no ${endpoint}`, 'not_found')
  if (body !== undefined && named.method !== 'GET') return { url: named.url, body }
  const call = await firstCallOf(manifest, url, { network, only: endpoint })
  if (call) return { url: call.url, body: call.body }
  throw new SvcError(
    `No endpoint at ${url} quotes a price for an example of its input: give --endpoint and --body`,
    'invalid_request',
  )
}

export function offerTold(
  { url, manifest, call, auditUrl }: Offer,
  exports: readonly string[] | undefined,
): string[] {
  const { name, network, payTo, endpoints } = manifest
  return [
    '',
    `${printable(name)} on ${url}, ${network}, paid to ${printable(payTo)}`,
    ...endpoints.map(
      ({ method, url, price, ...window }) =>
        `  ${printable(`${method} ${url}  ${price}${windowShown(window)}`)}`,
    ),
    ...(auditUrl === undefined ? [] : ['', `Calls and money: ${auditUrl}`]),
    ...(call ? ['', ...(exports ? paidTold(call, exports) : quoteTold(call))] : []),
    '',
    'Ctrl-C stops it.',
  ]
}

function quoteTold({ url, body }: FirstCall): string[] {
  return [
    'Ask for its price, for nothing:',
    '',
    `  ${svc()} quote ${shellWord(printable(url))}${bodyFlag(body)}`,
  ]
}

function paidTold({ url, body, price }: FirstCall, exports: readonly string[]): string[] {
  return [
    'Pay it with play money. Paste this into another terminal, here:',
    '',
    ...exports,
    `  ${svc()} call ${shellWord(printable(url))} --max-price ${price}${bodyFlag(body)}`,
  ]
}

function bodyFlag(body: string | undefined): string {
  return body === undefined ? '' : ` --body ${shellWord(printable(body))}`
}

/** Under an npm script `svc` may not be on the path; `--no` keeps npx from fetching another author's package of that name. */
function svc(): string {
  return process.env.npm_lifecycle_event ? 'npx --no svc' : 'svc'
}
