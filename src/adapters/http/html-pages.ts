/** The pages for people who open an agent in a browser. Each is one document that runs nothing and loads nothing. */
import { createHash } from 'node:crypto'
import type { EndpointDef } from '../../domain/endpoint.js'
import { examplesOf } from '../../domain/example-input.js'
import type { Manifest, ManifestEndpoint } from '../../domain/manifest.js'
import { formatUsd } from '../../domain/money.js'
import { isPublicNetwork, publicNetworkOf } from '../../domain/network.js'
import { shellWord } from '../../domain/strangers-text.js'
import { windowShown } from '../../domain/subscription-terms.js'
import { isRecord, type PaymentRequired } from '../../domain/x402.js'
import type { Reply } from './route.js'

/**
 * Whether a request asks for HTML before JSON, as a browser does that a person points at a URL. Programs send `Accept` without
 * `text/html`, or none.
 *
 * @see RFC 9110, section 12.5.1
 */
export function prefersHtml(accept: string | undefined): boolean {
  if (accept === undefined) return false
  const html = weightOf('text/html', accept)
  // What `*/*` weighs says nothing of JSON: browsers send it, too.
  return html > 0 && html > weightOf('application/json', accept)
}

function weightOf(wanted: string, accept: string): number {
  for (const entry of accept.split(',')) {
    const [type, ...parameters] = entry.split(';').map(part => part.trim().toLowerCase())
    if (type !== wanted) continue
    const weight = parameters.find(parameter => parameter.startsWith('q='))
    return weight === undefined ? 1 : Number(weight.slice(2)) || 0
  }
  return 0
}

/**
 * What an agent sells, at which price, and how it is paid. `root` is the URL at which this page is, without its last slash: the
 * agent's documents are under it. `image` is for indexes: the page itself does not load it.
 */
export function landingPage(manifest: Manifest, root: string, image?: string): string {
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
${DOCUMENTS.map(([path, what]) => html`<li><a href="${root}${path}">${path}</a>: ${what}</li>`)}
</ul>
<dl>
<dt>Network</dt><dd>Algorand ${network}</dd>
<dt>Paid to</dt><dd><code>${payTo}</code></dd>
</dl>`
  return page(name, description, body, openGraph(tags))
}

/** The paths of an agent's documents, and what each is. */
const DOCUMENTS = [
  ['/.well-known/svc.json', 'the manifest, with the schema of every input'],
  ['/.well-known/x402', 'the list for indexes of x402'],
  ['/.well-known/agent-card.json', 'the agent card, for A2A'],
  ['/openapi.json', 'OpenAPI 3.1'],
] as const

/** Indexes that find no other description of a seller read these tags. */
function openGraph(tags: Readonly<Record<string, string | undefined>>): readonly Html[] {
  return Object.entries(tags).flatMap(([name, content]) =>
    content === undefined ? [] : html`<meta property="og:${name}" content="${content}">\n`,
  )
}

function described(endpoint: ManifestEndpoint): Html {
  const { method, name, url, description } = endpoint
  return html`<article>
<header><h3>${method} ${name}</h3><span class="price">${priceOf(endpoint)}</span></header>
${description === '' ? undefined : html`<p>${description}</p>`}
<p class="faint"><code>${url}</code></p>
</article>
`
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

/** What a paid endpoint answers to a browser. `query` is what the caller sent after the path, with its question mark; it may be empty. */
export function quotePage(def: EndpointDef, required: PaymentRequired, query: string): string {
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
${howToPay(bodyType ? undefined : { method, url, network, usd: price.replace('$', ''), body: bodyIn(required) })}`
  return page(`${name}: ${cost}`, def.description, body)
}

/** The example that the quote declares to indexes; an endpoint that is not listed has none. Of text and bytes it is empty. */
function bodyIn({ extensions }: PaymentRequired): unknown {
  const bazaar = extensions?.bazaar
  const info = isRecord(bazaar) ? bazaar.info : undefined
  const input = isRecord(info) ? info.input : undefined
  return isRecord(input) ? input.body : undefined
}

interface ShownCall {
  readonly method: string
  readonly url: string
  readonly network: string
  /** In USD, such as `0.05`; the part of the command that limits the price. */
  readonly usd: string
  /** A body that the endpoint accepts. */
  readonly body?: unknown
}

/** How a call is paid, with a command that can be pasted into a shell. */
function howToPay(call: ShownCall | undefined): Html {
  return html`<h2>How to pay</h2>
<ol>
<li>Send the request without a payment. The answer is 402, and its header <code>PAYMENT-REQUIRED</code> has the quote. A quote is free.</li>
<li>An x402 client signs a payment of exactly that quote, and sends the same request with it in the header <code>PAYMENT-SIGNATURE</code>.</li>
<li>The answer has the receipt in the header <code>PAYMENT-RESPONSE</code>. A call that fails is not charged.</li>
</ol>
${
  call &&
  html`<p>For example, with the command line of <code>@svc/sdk</code> and a wallet in <code>SVC_MNEMONIC</code>:</p>
<pre><code>${commandOf(call)}</code></pre>`
}`
}

function commandOf({ method, url, network, usd, body }: ShownCall): string {
  const named = method === 'POST' ? '' : ` --method ${method}`
  const sent = method === 'GET' || body === undefined ? '' : ` --body ${shellWord(JSON.stringify(body))}`
  // Of any other network the payer has a definition, in a file of some name.
  const definition = isPublicNetwork(network) ? network : 'network.json'
  return `svc call ${shellWord(url)}${named}${sent} --max-price ${usd} --network ${definition}`
}

export function htmlReply(status: number, body: string, headers: readonly string[] = []): Reply {
  return { status, headers: [...PAGE_HEADERS, ...headers], body }
}

function page(title: string, description: string, body: Html, head: readonly Html[] = []): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<meta name="description" content="${description}">
${head}
<style>${new Html(STYLE)}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`.text
}

const STYLE = `
:root { color-scheme: light dark; --line: #8886; --soft: #f2f2f2; --faint: #595959; --accent: #0b5cad }
@media (prefers-color-scheme: dark) { :root { --soft: #2b2b2b; --faint: #b0b0b0; --accent: #7db8f5 } }
body { margin: 0; background: Canvas; color: CanvasText; font: 16px/1.5 system-ui, sans-serif }
main { max-width: 46rem; margin: 0 auto; padding: 2rem 1rem 4rem; overflow-wrap: anywhere }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .5rem }
h2 { font-size: 1.15rem; margin: 2.5rem 0 .75rem }
h3 { font-size: 1rem; margin: 0; font-family: ui-monospace, monospace }
p { margin: .5rem 0 }
a { color: var(--accent) }
article { border: 1px solid var(--line); border-radius: .5rem; padding: .8rem 1rem; margin: .75rem 0 }
article > header { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem }
.price { font-weight: 600 }
.faint, dt { color: var(--faint) }
code { font: .875rem ui-monospace, monospace }
pre { background: var(--soft); border-radius: .5rem; padding: .75rem 1rem; overflow-x: auto; overflow-wrap: normal }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; margin: .75rem 0 }
dd { margin: 0 }
ul, ol { padding-left: 1.25rem }
@media (max-width: 30rem) { dl { grid-template-columns: 1fr; gap: 0 } dd { margin-bottom: .5rem } }
`

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

const PAGE_HEADERS: readonly string[] = [
  ...['Content-Type', 'text/html; charset=utf-8'],
  'Content-Security-Policy',
  `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  ...['X-Content-Type-Options', 'nosniff'],
  ...['Referrer-Policy', 'no-referrer'],
]

/** HTML with every value escaped: a value is text of a seller or of a caller, unless this template made it. */
class Html {
  constructor(readonly text: string) {}
}

type Value = string | number | undefined | Html | readonly Html[]

/** An attribute must stand in double quotes: its value is escaped for nothing else. */
function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(parts.reduce((before, part, at) => before + written(values[at - 1]) + part))
}

function written(value: Value): string {
  if (value === undefined) return ''
  if (value instanceof Html) return value.text
  if (typeof value === 'object') return value.map(({ text }) => text).join('')
  return String(value).replace(/[&<>"']/g, character => ESCAPES[character]!)
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
