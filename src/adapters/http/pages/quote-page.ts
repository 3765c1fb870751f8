/** What a person sees who opens a paid endpoint in a browser: what a call costs, and how it is paid. */
import type { EndpointDef } from '../../../domain/endpoint.js'
import { formatUsd } from '../../../domain/money.js'
import { publicNetworkOf } from '../../../domain/network.js'
import { windowShown } from '../../../domain/subscription-terms.js'
import { isRecord, type PaymentRequired } from '../../../domain/x402.js'
import { documentOf } from './document.js'
import { howToPay } from './how-to-pay.js'
import { html } from './html.js'

/** `query` is what the caller sent after the path, with its question mark; it may be empty. */
export function quotePage(def: EndpointDef, required: PaymentRequired, query: string): string {
  const { method, name, subscription, bodyType } = def
  const { resource, accepts, error } = required
  const { amount, network: networkId, asset, payTo } = accepts[0]!
  const price = formatUsd(BigInt(amount))
  const network = publicNetworkOf(networkId) ?? networkId
  const url = method === 'GET' ? resource.url + query : resource.url
  const cost = subscription ? `${price}${windowShown(subscription)}` : `${price} per call`
  return documentOf({
    title: `${name}: ${cost}`,
    description: def.description,
    body: html`<h1>${name}</h1>
<p class="price">${cost}</p>
${def.description === '' ? undefined : html`<p>${def.description}</p>`}
<p>${error}. Nothing was run, and nothing was charged.</p>
<dl>
<dt>Call</dt><dd>${method} <code>${url}</code></dd>
<dt>Price</dt><dd>${price} in USDC (asset ${asset})</dd>
<dt>Network</dt><dd>Algorand ${network}</dd>
<dt>Paid to</dt><dd><code>${payTo}</code></dd>
</dl>
${howToPay(bodyType ? undefined : { method, url, network, usd: price.replace('$', ''), body: bodyIn(required) })}`,
  })
}

/** The example that the quote declares to indexes; an endpoint that is not listed has none. Of text and bytes it is empty. */
function bodyIn({ extensions }: PaymentRequired): unknown {
  const bazaar = extensions?.bazaar
  const info = isRecord(bazaar) ? bazaar.info : undefined
  const input = isRecord(info) ? info.input : undefined
  return isRecord(input) ? input.body : undefined
}
