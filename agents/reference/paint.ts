/** Text for a terminal. Colours only where somebody sees them: Node reads `NO_COLOR` and `FORCE_COLOR`. */
import { styleText } from 'node:util'

const painted = (style: Parameters<typeof styleText>[0]) => (text: string) => styleText(style, text, STDOUT)
const STDOUT = { stream: process.stdout }

export const bold = painted('bold')
export const dim = painted('dim')
export const green = painted('green')
export const cyan = painted('cyan')

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
