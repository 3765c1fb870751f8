/** The part of a page that says how a call is paid, with a command that can be pasted into a shell. */
import { isPublicNetwork } from '../../../domain/network.js'
import { shellWord } from '../../../domain/shell-word.js'
import { type Html, html } from './html.js'

export interface ShownCall {
  readonly method: string
  readonly url: string
  readonly network: string
  /** In USD, such as `0.05`; the part of the command that limits the price. */
  readonly usd: string
  /** A body that the endpoint accepts. */
  readonly body?: unknown
}

export function howToPay(call: ShownCall | undefined): Html {
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
  const input =
    method === 'GET'
      ? ' --method GET'
      : body === undefined
        ? ''
        : ` --body ${shellWord(JSON.stringify(body))}`
  // Of any other network the payer has a definition, in a file of some name.
  const named = isPublicNetwork(network) ? network : 'network.json'
  return `svc call ${shellWord(url)}${input} --max-price ${usd} --network ${named}`
}
