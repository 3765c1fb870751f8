/** A deeper value can be parsed, but cannot be written again: `JSON.stringify` runs out of its stack. */
export const JSON_DEPTH_MAX = 512

/** The value of a JSON text; `undefined` for a text that is none, or is nested deeper than `depthMax`. */
export function jsonIn(text: string, depthMax = JSON_DEPTH_MAX): unknown {
  if (deeperThan(text, depthMax)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether a JSON text nests deeper than `depthMax`. Counts brackets outside strings, before a parser builds anything. */
export function deeperThan(text: string, depthMax: number): boolean {
  let depth = 0
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (inString) {
      if (char === 0x5c) at++
      else if (char === 0x22) inString = false
    } else if (char === 0x22) inString = true
    else if (char === 0x5b || char === 0x7b) {
      if (++depth > depthMax) return true
    } else if (char === 0x5d || char === 0x7d) depth--
  }
  return false
}
