/**
 * Quotes text as one word of a POSIX shell, for pasting. It is never more than one word, whatever text a stranger has
 * chosen.
 */
import { printable } from './output.js'

export function shellWord(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text
  return `'${printable(text).replaceAll("'", "'\\''")}'`
}
