/** The audit page: one document that loads nothing from other hosts, and the policy that enforces it. */
import { createHash } from 'node:crypto'
import { SCRIPT, STYLE } from './page.generated.js'

/** `Content-Security-Policy`: exactly this style, exactly this script, and events from the page's own origin. */
export const POLICY = [
  "default-src 'none'",
  `script-src '${hashOf(SCRIPT)}'`,
  `style-src '${hashOf(STYLE)}'`,
  "connect-src 'self'",
  // The icon, which is in the document itself.
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}

const ICON = encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#3d4fd8"/><path d="M8 9h7v5M15 14v9h8" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"/><circle cx="23" cy="23" r="3.5" fill="#7ee2a0"/></svg>',
)

/** The document has no text of a caller or a seller: their text comes in events and is set as text. */
export const DOCUMENT = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Audit</title>
<link rel="icon" href="data:image/svg+xml,${ICON}">
<style>${STYLE}</style>
</head>
<body class="loading">
<header class="flow">
  <h1><span id="agent">Audit</span> <span id="network" class="note"></span></h1>
  <p id="live" class="maybe" role="status">connecting</p>
  <nav aria-label="Views"><a id="to-overview" href="#overview">Overview</a><a id="to-calls" href="#calls">Calls</a></nav>
  <form id="filters" class="flow" aria-label="Filters">
    <div id="selects" class="flow">
    <label>Period <select id="period">
      <option value="0">all that is kept</option><option value="900000">last 15 minutes</option>
      <option value="3600000">last hour</option><option value="86400000">last 24 hours</option><option value="604800000">last 7 days</option>
    </select></label>
    <label>Endpoint <select id="endpoint"><option value="">all</option></select></label>
    <label>Outcome <select id="outcome"><option value="">all</option></select></label>
    <label>Charged <select id="chargedness"><option value="">all</option></select></label>
    </div>
    <input type="search" id="search" placeholder="transaction, payer, balance or call" aria-label="Search by transaction, payer, balance or call" title="-ADDRESS leaves out what that wallet paid, such as your own" autocomplete="off" spellcheck="false">
    <label><input type="checkbox" id="quotes"> 402 quotes</label>
    <button type="button" id="csv" title="The calls that are shown, as CSV">CSV</button>
    <output id="shown"></output>
  </form>
</header>
<main>
  <div id="empty"></div>
  <div id="overview">
    <section class="card broad none" id="needs"><h2>What needs you</h2><ul id="needs-rows"></ul></section>
    <dl id="tiles">
      <div class="card"><dt>Income</dt><dd id="income"></dd><dd class="note" id="income-note"></dd><dd class="note" id="days"></dd></div>
      <div class="card"><dt>Calls</dt><dd id="seen"></dd><dd class="note" id="seen-note"></dd></div>
      <div class="card"><dt>Success rate</dt><dd id="success"></dd><dd class="note" id="success-note"></dd></div>
      <div class="card" id="owed-tile" hidden><dt>Owed in work</dt><dd id="owed"></dd><dd class="note" id="owed-note"></dd></div>
      <div class="card"><dt>Whole call, p95</dt><dd id="whole"></dd><dd class="note">95 of 100 are faster</dd></div>
    </dl>
    <section class="card wide"><h2>Income <small class="note" id="income-span"></small></h2><div class="plot note" id="income-plot" role="img" aria-label="Income over time"></div></section>
    <section class="card"><h2>Income by endpoint</h2><ul class="bars" id="by-endpoint"></ul></section>
    <section class="card"><h2>Income by payer</h2><ul class="bars" id="by-payer"></ul></section>
    <section class="card broad" id="owed-card" hidden><h2>Balances outstanding <small class="note">the largest</small></h2><ul class="bars outcomes" id="by-balance"></ul></section>
    <section class="card wide"><h2>Newest payments</h2><ul class="bars" id="newest-rows"></ul></section>
    <section class="card wide"><h2>Calls <small class="note" id="calls-span"></small></h2><ul class="flow note" id="calls-legend"></ul><div class="plot note" id="calls-plot" role="img" aria-label="Calls over time"></div></section>
    <section class="card wide"><h2>Calls by outcome</h2><ul class="bars outcomes" id="by-outcome"></ul></section>
    <section class="card wide"><h2>Latency <small class="note">of all these calls</small></h2>
      <table id="latencies"><thead class="note"><tr><td></td><th scope="col">p50</th><th scope="col">p95</th><th scope="col">p99</th></tr></thead><tbody id="latency-rows"></tbody></table>
      <p class="note">Verify and settle are the facilitator’s, the handler is yours. Settle counts until the payment is certain.</p>
    </section>
  </div>
  <div id="calls" hidden>
    <section id="runs" class="card" aria-label="Latest calls">
      <div id="list" role="listbox" tabindex="0" aria-label="Calls, newest first"><div id="spacer"></div></div>
      <article id="run" aria-label="The chosen call" aria-live="polite" tabindex="0" hidden></article>
    </section>
    <section id="machine" class="card" aria-label="Every way that a call can take">
      <div id="legend" class="flow note">
        <p>calls · their median time in the state</p>
        <ul class="flow"><li class="key yes">charged</li><li class="key earlier">paid before</li><li class="key maybe">in doubt</li><li class="key no">not charged</li></ul>
        <label><input type="checkbox" id="unused"> unused exits</label>
      </div>
      <div id="drawing" tabindex="0"></div>
    </section>
  </div>
</main>
<footer class="flow note"><p id="totals"></p><p id="zone"></p></footer>
<script>${SCRIPT}</script>
</body>
</html>
`
