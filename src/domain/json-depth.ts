/** Deeper than any schema that people write, and shallow enough that no recursion over what strangers send exhausts the stack. */
export const RECEIVED_DEPTH_MAX = 64

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

/** Whether a value nests deeper. It looks no deeper itself. */
export function nestsDeeperThan(value: unknown, depthMax: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return depthMax === 0 || Object.values(value).some(each => nestsDeeperThan(each, depthMax - 1))
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
