/** The audit page: one document that loads nothing from other hosts, and the policy that enforces it. */
import { createHash } from 'node:crypto'
import type { Table } from '../../domain/state-machine/transition-table.js'
import { NARROW, WIDE } from './machine-layout.js'
import { drawingOf } from './machine-svg.js'
import { SCRIPT, STYLE } from './page.generated.js'

export interface AuditPage {
  readonly html: string
  /** `Content-Security-Policy`: exactly this style, exactly this script, and events from the page's own origin. */
  readonly policy: string
}

export function auditPage(table: Table): AuditPage {
  return { html: documentOf(table), policy: POLICY }
}

const POLICY = [
  "default-src 'none'",
  `script-src '${hashOf(SCRIPT)}'`,
  `style-src '${hashOf(STYLE)}'`,
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}

/** The document has no text of a caller or a seller: their text comes in events and is set as text. */
function documentOf(table: Table): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Audit</title>
<style>${STYLE}</style>
</head>
<body>
<header>
  <h1><span id="agent">Audit</span> <span id="network" class="chip"></span></h1>
  <p id="live" role="status">connecting</p>
  <dl id="totals">
    <div><dt>calls</dt><dd id="calls">0</dd></div>
    <div class="yes"><dt>charged</dt><dd id="charged">0</dd></div>
    <div class="maybe"><dt>in doubt</dt><dd id="doubt">0</dd></div>
    <div><dt>taken</dt><dd id="taken">$0</dd></div>
  </dl>
</header>
<main>
  <section id="machine" aria-label="Every way that a call can take">
    <div id="legend">
      <p>Calls since the server began · median time in the state they leave</p>
      <ul><li class="yes">charged</li><li class="earlier">charged earlier</li><li class="maybe">in doubt</li><li class="no">not charged</li></ul>
    </div>
    <div id="drawing" tabindex="0">
${drawingOf(table, WIDE, 'wide')}
${drawingOf(table, NARROW, 'narrow')}
    </div>
  </section>
  <section id="runs" aria-label="Latest runs">
    <form id="filters">
      <label>Endpoint <select id="endpoint"><option value="">all</option></select></label>
      <label>Outcome <select id="outcome"><option value="">all</option></select></label>
      <label>Charged <select id="chargedness"><option value="">all</option></select></label>
      <output id="shown">0 runs</output>
    </form>
    <div id="list" role="listbox" tabindex="0" aria-label="Runs, newest first"><div id="spacer"></div></div>
    <p id="empty">No call has ended yet. This page is live: it will be here when it has.</p>
    <article id="run" aria-label="The chosen run" aria-live="polite" hidden></article>
  </section>
</main>
<script>${SCRIPT}</script>
</body>
</html>
`
}
