/** What a person sees who opens an agent's address: what it sells, at which price, and how it is paid. */
import { examplesOf } from '../../../domain/example-input.js'
import type { Manifest, ManifestEndpoint } from '../../../domain/manifest.js'
import { windowShown } from '../../../domain/subscription-terms.js'
import { documentOf } from './document.js'
import { howToPay, type ShownCall } from './how-to-pay.js'
import { type Html, html } from './html.js'

/**
 * `root` is the URL at which this page is, without its last slash: the agent's documents are under it. `image` is for indexes:
 * the page itself does not load it.
 */
export function landingPage(manifest: Manifest, root: string, image?: string): string {
  const { name, description, network, payTo, endpoints } = manifest
  return documentOf({
    title: name,
    description,
    head: openGraph({ site_name: name, title: name, description, url: `${root}/`, type: 'website', image }),
    body: html`<h1>${name}</h1>
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
</dl>`,
  })
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

function described({ method, name, url, description, ...terms }: ManifestEndpoint): Html {
  return html`<article>
<header><h3>${method} ${name}</h3><span class="price">${priceOf(terms)}</span></header>
${description === '' ? undefined : html`<p>${description}</p>`}
<p class="faint"><code>${url}</code></p>
</article>
`
}

function priceOf({ price, pricing, period, calls }: Terms): string {
  if (pricing === 'subscription') return `${price}${windowShown({ period, calls })}`
  if (pricing === 'fixed') return `${price} per call`
  return price === 'dynamic' ? 'priced per call' : price
}

type Terms = Pick<ManifestEndpoint, 'price' | 'pricing' | 'period' | 'calls'>

/** A call of the first endpoint that takes JSON, and whose price is known before the call. */
function exampleOf({ endpoints, network }: Manifest): ShownCall | undefined {
  const shown = endpoints.find(({ pricing, bodyType }) => pricing !== 'dynamic' && bodyType === undefined)
  if (shown === undefined) return undefined
  const { method, url, price, input } = shown
  const body = Object.keys(input).length > 0 ? examplesOf(input).next().value : undefined
  return { method, url, network, usd: price.replace('$', ''), body }
}
