/** What others say is data: its control characters are shown before it reaches a terminal, and its numbers stay as they came. */
import { clearLine, cursorTo } from 'node:readline'
import { styleText } from 'node:util'
import type { StreamCost } from '../src/client.js'
import { deeperThan, formatUsd, SvcError } from '../src/domain/index.js'

/** Control characters, and the marks that change the direction of text. */
const CONTROLS = /[\p{Cc}\p{Bidi_Control}]/gu
const CONTROLS_BUT_LAYOUT = /(?![\n\t])[\p{Cc}\p{Bidi_Control}]/gu

/** Makes one line of any text. What is no primitive is no text: a stranger's object may throw where it is made one. */
export function printable(text: unknown): string {
  const isText = text === null || (typeof text !== 'object' && typeof text !== 'function')
  return (isText ? String(text) : `(${Array.isArray(text) ? 'a list' : 'an object'})`).replace(
    CONTROLS,
    escaped,
  )
}

/** Escapes the control characters that JSON does not. Integers of 64 bits become strings: a JSON number is not exact enough for money. */
export function json(value: unknown, layout: 'line' | 'indented' = 'line'): string {
  const digits = (_: string, part: unknown) => (typeof part === 'bigint' ? String(part) : part)
  const text = JSON.stringify(value, digits) ?? 'null'
  return withoutControls(layout === 'line' ? text : indented(text))
}

export function withoutControls(text: string): string {
  return text.replace(CONTROLS_BUT_LAYOUT, escaped)
}

export let isResultBegun = false

/** All results go through here, or through {@link written}. Returns whether stdout takes more at once. */
export function writeResult(result: string | Uint8Array): boolean {
  isResultBegun = true
  return process.stdout.write(result)
}

/** Whether a command waits for its writes, and tells of those that fail itself. */
let isAwaited = false

/** Waits until it is written: a slow reader slows the writer, and what was paid for is not lost without a word. */
export async function written(
  result: string | Uint8Array,
  stream: NodeJS.WriteStream = process.stdout,
): Promise<void> {
  isAwaited = true
  if (stream === process.stdout) isResultBegun = true
  try {
    await new Promise<void>((resolve, reject) => {
      // A file is written at once, and some versions of Node throw its errors here.
      stream.write(result, error => (error ? reject(error) : resolve()))
    })
  } catch (error) {
    const what = stream === process.stdout ? 'answer' : 'receipt'
    throw new SvcError(`The ${what} cannot be written: ${(error as Error).message}`, 'output_unwritable')
  }
}

/** A reader of stdout that stops early (`svc manifest … | head`) is an error only for a command that waits for its writes. */
export function watchOutput(): void {
  process.stderr.on('error', () => {})
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (isAwaited) return
    // With the exit code that is set: a command that failed after a payment ends with 4 all the same.
    if (error.code === 'EPIPE') process.exit()
    note(`svc: The result cannot be written: ${printable(error.message)} (output_unwritable)`)
    process.exit(process.exitCode || 1)
  })
}

/** Whether a program reads it. */
export interface Shown {
  readonly json?: boolean
}

/** A result: its JSON for a program; for a person lines, or names with their values. */
export function tell({ json: isAsked }: Shown, asJson: string, told: readonly string[] | Rows): void {
  const [first] = told
  const lines = typeof first === 'object' ? columns(told as Rows) : (told as readonly string[])
  print(isAsked ? asJson : lines.join('\n'))
}

export function print(...lines: readonly string[]): void {
  writeResult(`${lines.join('\n')}\n`)
}

export function note(...lines: readonly string[]): void {
  try {
    if (lines.length > 0) process.stderr.write(`${lines.join('\n')}\n`)
  } catch {
    // Some versions of Node throw here where the disk is full. The exit code still says what happened.
  }
}

/** The style where the stream is a terminal that shows it. `NO_COLOR` and `FORCE_COLOR` go before that, as Node reads them. */
export function styled(
  style: Parameters<typeof styleText>[0],
  text: string,
  stream: NodeJS.WriteStream = process.stdout,
): string {
  return styleText(style, text, { stream })
}

export function balanceRows({ charged, left }: StreamCost): [name: string, value: string | undefined][] {
  const shown = (units: string | undefined) => units && formatUsd(BigInt(units))
  return charged === undefined
    ? []
    : [
        ['from the balance', shown(charged)],
        ['left', shown(left)],
      ]
}

type Rows = readonly (readonly [name: string, value: string | undefined])[]

/** Names and values in two columns; omits entries without a value. */
export function columns(entries: Rows): string[] {
  const width = entries.reduce((most, [name]) => Math.max(most, name.length), 0)
  return entries.flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : `${name.padEnd(width)}  ${printable(value)}`,
  )
}

/** Text of another party for stdout: unchanged for a pipe, without control characters on a terminal. */
export function shownText(text: string): string {
  return process.stdout.isTTY ? withoutControls(text) : text
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

const said = ({ err, ...fields }: { readonly err?: unknown }, message: string) => {
  const named = Object.entries(fields).map(([name, value]) => `${name}: ${worded(value)}`)
  const details = named.length > 0 ? ` (${named.join(', ')})` : ''
  note(printable(`svc: ${message}${details}${err === undefined ? '' : `: ${worded(err)}`}`))
}

function worded(value: unknown): string {
  if (value instanceof Error) return value.message
  return typeof value === 'string' ? value : json(value)
}

/** A line on stderr for each, with all its fields: the SDK puts no key into them. Words of a node may be in them. */
export const STDERR_LOGGER = { debug() {}, info() {}, warn: said, error: said }

/** A line for each value of a stranger's JSON costs as many spaces as it is deep: beyond these it stays as it came. */
const INDENTED_LENGTH_MAX = 65_536
const INDENTED_DEPTH_MAX = 32

const TOKENS = /"(?:[^"\\]|\\.)*"|\[\s*\]|\{\s*\}|[[\]{},:]|\s+|[^\s"[\]{},:]+/g

/** The same JSON, a line for each value, where it is small and shallow. */
export function indented(text: string): string {
  if (text.length > INDENTED_LENGTH_MAX || deeperThan(text, INDENTED_DEPTH_MAX)) return text
  let depth = 0
  const line = (deeper = 0) => {
    depth += deeper
    return `\n${'  '.repeat(depth)}`
  }
  return text.replace(TOKENS, token => {
    const [first] = token
    if (first === '"') return token
    if (token.trim() === '') return ''
    if (first === ',') return `,${line()}`
    if (first === ':') return ': '
    if (token === '[' || token === '{') return token + line(1)
    if (token === ']' || token === '}') return line(-1) + token
    return token.replace(/\s/g, '')
  })
}

/** The same JSON on one line. In JSON, control characters that are not escaped stand between values. */
export function onOneLine(text: string): string {
  return text.replace(/[\n\r\t]/g, ' ')
}

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const FRAME_MS = 80
/** For a shorter wait, a spinner only flickers. */
const DELAY_MS = 200

export async function whileWaiting<T>(label: string, work: Promise<T>): Promise<T> {
  const { stderr } = process
  if (!stderr.isTTY) return work
  let frame = 0
  const clear = () => {
    cursorTo(stderr, 0)
    clearLine(stderr, 0)
  }
  const spin = () => {
    clear()
    stderr.write(`${FRAMES[frame++ % FRAMES.length]} ${label}`)
  }
  let ticking: NodeJS.Timeout | undefined
  const delay = setTimeout(() => {
    ticking = setInterval(spin, FRAME_MS)
  }, DELAY_MS)
  try {
    return await work
  } finally {
    clearTimeout(delay)
    clearInterval(ticking)
    if (frame > 0) clear()
  }
}
