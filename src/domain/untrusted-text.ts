/** What may be done with text that a stranger chose: which of it is an address, and how it is kept, shown and pasted safely. */

/** The beginning of a text, for what is kept longer than the text. The copy matters: V8's `slice` keeps the whole text in memory. */
export function cutText(text: string, lengthMax: number): string {
  return JSON.parse(JSON.stringify(text.slice(0, lengthMax)))
}

export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** The text of a string, a number or a boolean. Anything else has none: an object of a stranger's may throw where it is made text. */
export function primitiveText(value: unknown): string | undefined {
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : undefined
}

/** The shape of an Algorand address: 58 base32 characters. The Algorand adapter checks the checksum. */
const ADDRESS = /^[A-Z2-7]{58}$/

export function isAddress(value: unknown): value is string {
  return typeof value === 'string' && ADDRESS.test(value)
}

const URL_LENGTH_MAX = 2_048

/** Whether a value is a public web address: absolute, http or https, without a password, in printable ASCII. */
export function isWebUrl(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > URL_LENGTH_MAX || !/^[\x21-\x7e]+$/.test(value))
    return false
  if (!URL.canParse(value)) return false
  const { protocol, username, password } = new URL(value)
  return /^https?:$/.test(protocol) && username === '' && password === ''
}

/** Whether a stranger's text can be encoded for a URL: `encodeURIComponent` throws where half of a character stands in it. */
export function fitsUrl(text: string): boolean {
  return !/\p{Surrogate}/u.test(text)
}

/** Text as one word of a POSIX shell, for pasting. It is never more than one word, whatever text a stranger has chosen. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/** One row as CSV, without its line end, safe to open in a spreadsheet. @see RFC 4180 */
export function csvRow(cells: readonly (string | number | null | undefined)[]): string {
  return cells.map(fieldOf).join(',')
}

/** A spreadsheet strips leading white space, and reads the characters after it as the beginning of a formula. */
const FORMULA = /^[\s\0]*[=+\-@|%＝＋－＠]|^[\t\r\n]/u

/** Sellers and payers choose some of the text. It must not run as a formula on the computer that opens the file. */
function fieldOf(cell: string | number | null | undefined): string {
  if (typeof cell === 'number') return String(cell)
  const text = cell ?? ''
  const inert = FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]|^'|^\s|\s$/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert
}
