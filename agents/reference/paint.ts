/** Text for a terminal. Colours only where somebody sees them: on a TTY, and not with `NO_COLOR` (https://no-color.org). */

const colours = Boolean(process.stdout.isTTY) && !process.env.NO_COLOR

const painted = (code: number) => (text: string) => (colours ? `\u001b[${code}m${text}\u001b[0m` : text)

export const bold = painted(1)
export const dim = painted(2)
export const green = painted(32)
export const cyan = painted(36)

/** A numbered step and its lines. */
export function step(number: number, title: string, lines: readonly string[]): void {
  console.log(`\n${cyan(String(number).padStart(2))}  ${bold(title)}`)
  for (const line of lines) console.log(`    ${line}`)
}

/** Names and values in two columns. */
export function table(entries: Readonly<Record<string, string>>): string[] {
  const width = Math.max(...Object.keys(entries).map(name => name.length))
  return Object.entries(entries).map(([name, value]) => `${dim(name.padEnd(width))}  ${value}`)
}

/** Breaks at spaces; a word that is longer stays whole. */
export function wrapped(text: string, width = 96): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}
