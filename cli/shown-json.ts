/** JSON of another party, as text: never parsed and written anew, because a number beyond 2^53 would be another one. */
import { deeperThan } from '../src/domain/index.js'

/** A line for each value of a stranger's JSON costs as many spaces as it is deep: beyond these it stays as it came. */
const INDENTED_LENGTH_MAX = 65_536
const INDENTED_DEPTH_MAX = 32

const TOKENS = /"(?:[^"\\]|\\.)*"|\[\s*\]|\{\s*\}|[[\]{},:]|\s+|[^\s"[\]{},:]+/g

/** The same JSON, a line for each value, where it is small and shallow. */
export function indented(text: string): string {
  if (text.length > INDENTED_LENGTH_MAX || deeperThan(text, INDENTED_DEPTH_MAX)) return text
  let depth = 0
  const line = () => `\n${'  '.repeat(depth)}`
  return text.replace(TOKENS, token => {
    const [first] = token
    if (first === '"') return token
    if (token.trim() === '') return ''
    if (first === ',') return `,${line()}`
    if (first === ':') return ': '
    if (token === '[' || token === '{') {
      depth++
      return token + line()
    }
    if (token === ']' || token === '}') {
      depth--
      return line() + token
    }
    return token.replace(/\s/g, '')
  })
}

/** The same JSON on one line. In JSON, control characters that are not escaped stand between values. */
export function onOneLine(text: string): string {
  return text.replace(/[\n\r\t]/g, ' ')
}
