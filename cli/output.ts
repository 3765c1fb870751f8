/**
 * Prints the commands' output. Text from other parties is data: its control characters are made visible before it
 * reaches a terminal.
 */

import { styleText } from 'node:util'

/** Control characters, and the marks that change the direction of text. */
const CONTROLS = /[\p{Cc}\p{Bidi_Control}]/gu
const CONTROLS_BUT_LAYOUT = /(?![\n\t])[\p{Cc}\p{Bidi_Control}]/gu

/** Makes one line of any text. */
export function printable(text: unknown): string {
  return String(text).replace(CONTROLS, escaped)
}

/** JSON itself escapes the first set of control characters (C0). This escapes the others, and keeps the same JSON value. */
export function json(value: unknown, indent?: number): string {
  return (JSON.stringify(value, undefined, indent) ?? 'null').replace(CONTROLS_BUT_LAYOUT, escaped)
}

let isResultBegun = false

/** Whether a part of a result is on stdout. */
export function hasResult(): boolean {
  return isResultBegun
}

/** All results go through here. Returns whether stdout takes more at once. */
export function writeResult(result: string | Uint8Array): boolean {
  isResultBegun = true
  return process.stdout.write(result)
}

/** Prints results on stdout. */
export function print(...lines: readonly string[]): void {
  writeResult(`${lines.join('\n')}\n`)
}

/** Prints everything except the result, on stderr. */
export function note(...lines: readonly string[]): void {
  process.stderr.write(`${lines.join('\n')}\n`)
}

/** The style where the stream is a terminal that shows it. `NO_COLOR` and `FORCE_COLOR` go before that, as Node reads them. */
export function styled(
  style: Parameters<typeof styleText>[0],
  text: string,
  stream: NodeJS.WriteStream = process.stdout,
): string {
  return styleText(style, text, { stream })
}

/** Names and values in two columns; omits entries without a value. */
export function columns(entries: readonly (readonly [name: string, value: string | undefined])[]): string[] {
  const width = Math.max(...entries.map(([name]) => name.length))
  return entries.flatMap(([name, value]) =>
    value === undefined ? [] : `${name.padEnd(width)}  ${printable(value)}`,
  )
}

/** Prints a result for a shell pipe: text and bytes unchanged, anything else as JSON. */
export function printData(data: unknown): void {
  if (data instanceof Uint8Array) writeResult(data)
  else if (typeof data !== 'string') print(json(data, 2))
  else print(shownText(data))
}

/** Text of another party for stdout: unchanged for a pipe, without control characters on a terminal. */
export function shownText(text: string): string {
  return process.stdout.isTTY ? text.replace(CONTROLS_BUT_LAYOUT, escaped) : text
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
