/**
 * Whether a request asks for HTML before JSON, as a browser does that a person points at a URL. Programs send `Accept`
 * without `text/html`, or none.
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
