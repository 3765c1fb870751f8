/** A page for people who open an agent in a browser: one document that runs nothing and loads nothing. */
import { createHash } from 'node:crypto'
import type { Reply } from '../reply.js'
import { Html, html } from './html.js'

export interface PageContent {
  readonly title: string
  readonly description: string
  /** Further elements of the head. */
  readonly head?: readonly Html[]
  readonly body: Html
}

export function htmlReply(status: number, body: string, headers: readonly string[] = []): Reply {
  return { status, headers: [...PAGE_HEADERS, ...headers], body }
}

export function documentOf({ title, description, head = [], body }: PageContent): string {
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

const PAGE_HEADERS: readonly string[] = [
  'Content-Type',
  'text/html; charset=utf-8',
  'Content-Security-Policy',
  [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'X-Content-Type-Options',
  'nosniff',
  'Referrer-Policy',
  'no-referrer',
]
