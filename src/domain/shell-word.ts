/** Text as one word of a POSIX shell, for pasting. It is never more than one word, whatever text a stranger has chosen. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
