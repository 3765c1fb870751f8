/**
 * The pages for people who open an agent in a browser. Each is one document that loads nothing, and runs what its copy buttons
 * need.
 */
import type { EndpointDef } from '../../domain/endpoint.js'
import type { JSONSchema } from '../../domain/endpoint-schemas.js'
import { examplesOf } from '../../domain/example-input.js'
import type { Manifest, ManifestEndpoint } from '../../domain/manifest.js'
import { formatUsd } from '../../domain/money.js'
import { isPublicNetwork, publicNetworkOf } from '../../domain/network.js'
import { windowShown } from '../../domain/period.js'
import { shellWord } from '../../domain/untrusted-text.js'
import { memberAt, type PaymentRequired } from '../../domain/x402.js'
import type { ChargeOutcome } from '../../ports/charge.js'
import { type Html, html, htmlReply, page, prefersHtml } from './html-template.js'
import { chargeReplyHeaders } from './outcome-to-reply.js'
import { searchOf } from './read-request.js'
import type { Reply } from './reply.js'
import type { HostRequest } from './route.js'

interface LandingPageOptions {
  /** For indexes: the page itself does not load it. */
  readonly image: string | undefined
  readonly hasCard: boolean
}

/**
 * What an agent sells, at which price, and how it is paid. `root` is the URL at which this page is, without its last slash: the
 * agent's documents are under it.
 */
export function landingPage(manifest: Manifest, root: string, { image, hasCard }: LandingPageOptions) {
  const { name, description, network, payTo, endpoints } = manifest
  const tags = { site_name: name, title: name, description, url: `${root}/`, type: 'website', image }
  const body = html`<h1>${name}</h1>
<p>${description}</p>
<p class="faint">It is paid per request, in USDC on Algorand ${network}, over x402. No account is needed.</p>
<h2>Endpoints</h2>
${endpoints.length === 0 ? html`<p>None is listed.</p>` : endpoints.map(described)}
${howToPay(exampleOf(manifest))}
<h2>For programs</h2>
<ul>
${DOCUMENTS.filter(([path]) => hasCard || path !== CARD).map(([path, what]) => html`<li><a href="${root}${path}">${path}</a>: ${what}</li>`)}
</ul>
<dl>
<dt>Network</dt><dd>Algorand ${network}</dd>
<dt>Paid to</dt><dd><code>${payTo}</code></dd>
</dl>`
  return page(name, description, body, openGraph(tags))
}

const CARD = '/.well-known/agent-card.json'

const DOCUMENTS = [
  ['/.well-known/svc.json', 'the manifest, with the schema of every input'],
  ['/.well-known/x402', 'the list for indexes of x402'],
  [CARD, 'the agent card, for A2A'],
  ['/openapi.json', 'OpenAPI 3.1'],
] as const

/** Indexes that find no other description of a seller read these tags. */
function openGraph(tags: Readonly<Record<string, string | undefined>>): readonly Html[] {
  return Object.entries(tags).flatMap(([name, content]) =>
    content === undefined ? [] : html`<meta property="og:${name}" content="${content}">\n`,
  )
}

function described(endpoint: ManifestEndpoint): Html {
  const { method, name, url, description, input } = endpoint
  return html`<article>
<header><h3>${method} ${name}</h3><span class="price">${priceOf(endpoint)}</span></header>
${description === '' ? undefined : html`<p>${description}</p>`}
<p class="faint"><code>${url}</code></p>
${schemaOf(input)}
</article>
`
}

function schemaOf(input: JSONSchema | undefined): Html | undefined {
  if (Object.keys(input ?? {}).length === 0) return undefined
  return html`<details><summary>Schema of its input</summary><pre><code>${JSON.stringify(input, null, 2)}</code></pre></details>`
}

function priceOf({ price, pricing, period, calls }: ManifestEndpoint): string {
  if (pricing === 'subscription') return `${price}${windowShown({ period, calls })}`
  if (pricing === 'fixed') return `${price} per call`
  return price === 'dynamic' ? 'priced per call' : price
}

/** A call of the first endpoint that takes JSON, and whose price is known before the call. */
function exampleOf({ endpoints, network }: Manifest): ShownCall | undefined {
  const shown = endpoints.find(({ pricing, bodyType }) => pricing !== 'dynamic' && bodyType === undefined)
  if (shown === undefined) return undefined
  const { method, url, price, input } = shown
  const body = Object.keys(input).length > 0 ? examplesOf(input).next().value : undefined
  return { method, url, network, usd: price.replace('$', ''), body }
}

/** A person who opens the address in a browser gets a page instead of the empty object. */
export function forReader(
  def: EndpointDef,
  request: HostRequest,
  outcome: ChargeOutcome,
  reply: Reply,
): Reply {
  const isQuoted = outcome.final === 'quoted' && outcome.challenge !== undefined
  if (!isQuoted || request.method !== 'GET' || !prefersHtml(request.headers.accept)) return reply
  const page = quotePage(def, outcome.challenge.required, searchOf(request.target))
  return htmlReply(reply.status, page, chargeReplyHeaders(outcome))
}

/** What a paid endpoint answers to a browser. `query` is what the caller sent after the path, with its question mark; it may be empty. */
function quotePage(def: EndpointDef, required: PaymentRequired, query: string): string {
  const { method, name, subscription, bodyType } = def
  const { resource, accepts, error } = required
  const { amount, network: networkId, asset, payTo } = accepts[0]!
  const price = formatUsd(BigInt(amount))
  const network = publicNetworkOf(networkId) ?? networkId
  const url = method === 'GET' ? resource.url + query : resource.url
  const cost = subscription ? `${price}${windowShown(subscription)}` : `${price} per call`
  const body = html`<h1>${name}</h1>
<p class="price">${cost}</p>
${def.description === '' ? undefined : html`<p>${def.description}</p>`}
<p>${error}. Nothing was run, and nothing was charged.</p>
<dl>
<dt>Call</dt><dd>${method} <code>${url}</code></dd>
<dt>Price</dt><dd>${price} in USDC (asset ${asset})</dd>
<dt>Network</dt><dd>Algorand ${network}</dd>
<dt>Paid to</dt><dd><code>${payTo}</code></dd>
</dl>
${schemaOf(def.input)}
${howToPay(bodyType ? undefined : { method, url, network, usd: price.replace('$', ''), body: bodyIn(required) })}`
  return page(`${name}: ${cost}`, def.description, body)
}

/** The example that the quote declares to indexes; an endpoint that is not listed has none. Of text and bytes it is empty. */
function bodyIn({ extensions }: PaymentRequired): unknown {
  return memberAt(extensions, 'bazaar', 'info', 'input', 'body')
}

interface ShownCall {
  readonly method: string
  readonly url: string
  readonly network: string
  /** In USD, such as `0.05`; the part of the command that limits the price. */
  readonly usd: string
  readonly body?: unknown
}

function howToPay(call: ShownCall | undefined): Html {
  return html`<h2>How to pay</h2>
<p>Do you have a wallet, and no program? <strong>Send no money to the address by hand:</strong> nothing is delivered for it. A program signs
the payment of each call, with the key of a wallet that holds USDC: one of those below, or an assistant that has <code>svc mcp</code>.</p>
${
  call &&
  [
    ['Ask for the price, free', curlOf(call)],
    ['Pay, in a program', fetchOf(call)],
    ['Pay, in a terminal', commandOf(call)],
  ].map(
    ([what = '', text]) =>
      html`<figure><figcaption>${what}</figcaption><pre><code>${text}</code></pre></figure>`,
  )
}
<p>Program and terminal are those of <code>@svc/sdk</code>, with the wallet's 25 words in <code>SVC_MNEMONIC</code>. Any x402 client does the same:</p>
<ol>
<li>It sends the request without a payment. The answer is 402, and its header <code>PAYMENT-REQUIRED</code> has the quote.</li>
<li>It signs a payment of exactly that quote, and sends the same request with it in the header <code>PAYMENT-SIGNATURE</code>.</li>
<li>The answer has the receipt in the header <code>PAYMENT-RESPONSE</code>. A call that fails is not charged.</li>
</ol>`
}

function sentOf({ method, body }: ShownCall): string | undefined {
  return method === 'GET' || body === undefined ? undefined : JSON.stringify(body)
}

function curlOf(call: ShownCall): string {
  const sent = sentOf(call)
  const data = sent === undefined ? '' : ` -H 'content-type: application/json' -d ${shellWord(sent)}`
  return `curl -i${call.method === 'GET' ? '' : ` -X ${call.method}`} ${shellWord(call.url)}${data}`
}

function fetchOf(call: ShownCall): string {
  const { method, url, network, usd } = call
  const [sent, text] = [sentOf(call), JSON.stringify]
  const known = isPublicNetwork(network)
  const perDay = Math.ceil(10 * Number(usd))
  const body =
    sent === undefined
      ? ''
      : `, headers: { 'content-type': 'application/json' }, body: JSON.stringify(${sent})`
  return `import { ${known ? '' : 'networkFrom, '}SvcClient } from '@svc/sdk'
const network = ${known ? text(network) : "networkFrom('network.json')"}
const key = process.env.SVC_MNEMONIC
const client = new SvcClient({ mnemonic: key, network, maxPrice: '$${usd}', maxPerDay: '$${perDay}' })
const answer = await client.fetch(${text(url)}, { method: ${text(method)}${body} })
console.log(await answer.text())`
}

function commandOf(call: ShownCall): string {
  const { method, url, network, usd } = call
  const sent = sentOf(call)
  const named = method === 'POST' ? '' : ` --method ${method}`
  const body = sent === undefined ? '' : ` --body ${shellWord(sent)}`
  // Of any other network the payer has a definition, in a file of some name.
  const definition = isPublicNetwork(network) ? network : 'network.json'
  return `svc call ${shellWord(url)}${named}${body} --max-price ${usd} --network ${definition}`
}
