/** What the commands print. Others' words are data here too: they reach a terminal only with their controls made visible. */

/** Control characters, and the marks that turn the direction of writing. */
const CONTROLS = /[\p{Cc}\p{Bidi_Control}]/gu
const CONTROLS_BUT_LAYOUT = /(?![\n\t])[\p{Cc}\p{Bidi_Control}]/gu

/** One line, whatever the text. */
export function printable(text: unknown): string {
  return String(text).replace(CONTROLS, escaped)
}

/** JSON escapes the first set of controls itself; what is left is escaped so that it stays the same JSON. */
export function json(value: unknown, indent?: number): string {
  return (JSON.stringify(value, undefined, indent) ?? 'null').replace(CONTROLS_BUT_LAYOUT, escaped)
}

/** Results, on stdout. */
export function print(...lines: readonly string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`)
}

/** Everything about a result that is not the result, on stderr. */
export function note(...lines: readonly string[]): void {
  process.stderr.write(`${lines.join('\n')}\n`)
}

/** Names and values in two columns; entries without a value are left out. */
export function columns(entries: readonly (readonly [name: string, value: string | undefined])[]): string[] {
  const width = Math.max(...entries.map(([name]) => name.length))
  return entries.flatMap(([name, value]) =>
    value === undefined ? [] : `${name.padEnd(width)}  ${printable(value)}`,
  )
}

/** A result as the caller of a shell pipe wants it: text and bytes as they came, anything else as JSON. */
export function printData(data: unknown): void {
  if (data instanceof Uint8Array) process.stdout.write(data)
  else if (typeof data !== 'string') print(json(data, 2))
  else print(process.stdout.isTTY ? data.replace(CONTROLS_BUT_LAYOUT, escaped) : data)
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
