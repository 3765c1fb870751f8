/** Rows as CSV (RFC 4180), safe to open in a spreadsheet. */

type Cell = string | number | null | undefined

export function csvOf(rows: readonly (readonly Cell[])[]): string {
  return rows.map(row => `${row.map(fieldOf).join(',')}\r\n`).join('')
}

/** What spreadsheets take for the beginning of a formula, and what they strip before looking. */
const FORMULA = /^[\s\0]*[=+\-@|%＝＋－＠]|^[\t\r\n]/u

/** Sellers choose some of the text: it must not become a formula on the machine of who opens the file. */
function fieldOf(cell: Cell): string {
  if (typeof cell === 'number') return String(cell)
  const text = cell ?? ''
  const inert = FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]|^'|^\s|\s$/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert
}
