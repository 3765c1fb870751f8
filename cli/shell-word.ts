/** Text as one word of a POSIX shell, to be pasted: never more than one, whatever a stranger has put into it. */
import { printable } from './output.js'

export function shellWord(text: string): string {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text
  return `'${printable(text).replaceAll("'", "'\\''")}'`
}
