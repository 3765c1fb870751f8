/** HTML with every value escaped: a value is text of a seller or of a caller, unless this template made it. */

export class Html {
  constructor(readonly text: string) {}
}

type Value = string | number | undefined | Html | readonly Html[]

/**
 * @example
 * html`<p title="${title}">${text}</p>`
 */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(parts.reduce((before, part, at) => before + written(values[at - 1]) + part))
}

/** An attribute must stand in double quotes: its value is escaped for nothing else. */
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
