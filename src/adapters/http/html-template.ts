/** HTML documents: what every page has, and how values get into one. Whether a caller reads HTML at all. */
import { createHash } from 'node:crypto'
import type { Reply } from './reply.js'

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

export function htmlReply(status: number, body: string, headers: readonly string[] = []): Reply {
  return { status, headers: [...PAGE_HEADERS, ...headers], body }
}

export function page(title: string, description: string, body: Html, head: readonly Html[] = []): string {
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
<script>${new Html(SCRIPT)}</script>
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
pre { background: var(--soft); border-radius: .5rem; padding: .75rem 1rem; white-space: pre-wrap; overflow-wrap: anywhere; margin: .5rem 0 }
figure { margin: 1rem 0 }
figcaption { display: flex; justify-content: space-between; align-items: center; gap: 1rem; min-height: 2.75rem }
button { font: inherit; min-width: 5rem; min-height: 2.75rem; border: 1px solid var(--line); border-radius: .5rem; background: none; color: var(--accent) }
summary { cursor: pointer; min-height: 1.75rem }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; margin: .75rem 0 }
dd { margin: 0 }
ul, ol { padding-left: 1.25rem }
@media (max-width: 30rem) { dl { grid-template-columns: 1fr; gap: 0 } dd { margin-bottom: .5rem } }
`

/** Copies what stands under a button. Without scripts there are no buttons; without a secure context the browser's old command copies. */
const SCRIPT = `
for (const figure of document.querySelectorAll('figure')) {
  const code = figure.querySelector('code')
  const button = document.createElement('button')
  button.textContent = 'Copy'
  button.onclick = async () => {
    try {
      await navigator.clipboard.writeText(code.textContent)
    } catch {
      getSelection().selectAllChildren(code)
      document.execCommand('copy')
    }
    button.textContent = 'Copied'
  }
  figure.firstChild.append(button)
}
`

const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

const PAGE_HEADERS: readonly string[] = [
  ...['Content-Type', 'text/html; charset=utf-8'],
  'Content-Security-Policy',
  `default-src 'none'; style-src ${hashOf(STYLE)}; script-src ${hashOf(SCRIPT)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  ...['X-Content-Type-Options', 'nosniff'],
  ...['Referrer-Policy', 'no-referrer'],
]

export class Html {
  constructor(readonly text: string) {}
}

type Value = string | number | undefined | Html | readonly Html[]

/** An attribute must stand in double quotes: its value is escaped for nothing else. */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
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
