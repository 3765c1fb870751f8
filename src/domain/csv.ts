/**
 * One row as CSV, without its line end, safe to open in a spreadsheet.
 *
 * @see RFC 4180
 */
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
