/**
 * Finds the values that JSON would drop or silently replace: `NaN` becomes `null`, a `Map` becomes `{}`, a function
 * vanishes. The walk runs before `JSON.stringify`, because the text no longer shows what was lost.
 */
import { types } from 'node:util'

/** Neither a recursion nor a transport that parses the answer again can handle deeper values. */
const DEPTH_MAX = 512
/** A shared part counts each time: thirty objects that hold each other twice have a billion values. */
const VALUES_MAX = 10_000_000
const POINTER_LENGTH_MAX = 200
const NAME_LENGTH_MAX = 60

/**
 * What JSON cannot carry of a value, in words for the seller's log, and a JSON pointer to it, which is empty for the value itself;
 * `undefined` where JSON carries it unchanged. Calls getters and `toJSON`, which may throw.
 */
export function jsonMistakeIn(value: unknown): { readonly what: string; readonly at: string } | undefined {
  const walk: Walk = { ancestors: [], valuesLeft: VALUES_MAX, path: [] }
  const what = value === undefined ? 'undefined (is a `return` missing?)' : mistakeIn(value, '', walk)
  return what === undefined ? undefined : { what, at: pointerOf(walk.path) }
}

interface Walk {
  /** The objects that contain the current one. */
  readonly ancestors: object[]
  valuesLeft: number
  /** From the mistake outwards. It is built on the way back, so a valid value costs nothing. */
  readonly path: (string | number)[]
}

type Mistake = string | undefined

const TOO_MANY = `more than ${VALUES_MAX} values`

function mistakeIn(value: unknown, key: string | number, walk: Walk): Mistake {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return undefined
    case 'number':
      return Number.isFinite(value) ? undefined : String(value)
    case 'object':
      return value === null ? undefined : mistakeInObject(value, key, walk)
    case 'bigint':
      return hasToJson(value) ? mistakeInRendered(value, key, walk) : 'a BigInt'
    case 'undefined':
      return 'undefined'
    default:
      return `a ${typeof value}`
  }
}

function mistakeInObject(value: object, key: string | number, walk: Walk): Mistake {
  const plain = isPlain(value)
  return (
    (plain ? undefined : misplaced(value)) ??
    (hasToJson(value) ? mistakeInRendered(value, key, walk) : mistakeInParts(value, plain, key, walk))
  )
}

/** JSON replaces the value with the result of `toJSON`, and does not call `toJSON` on that result. */
function mistakeInRendered(value: HasToJson, key: string | number, walk: Walk): Mistake {
  if (types.isDate(value) && Number.isNaN(value.getTime())) return 'an invalid Date'
  const rendered = value.toJSON(String(key))
  if (typeof rendered !== 'object' || rendered === null) return mistakeIn(rendered, key, walk)
  const plain = isPlain(rendered)
  return (plain ? undefined : misplaced(rendered)) ?? mistakeInParts(rendered, plain, key, walk)
}

function mistakeInParts(value: object, plain: boolean, key: string | number, walk: Walk): Mistake {
  const { ancestors } = walk
  if (ancestors.includes(value)) return 'an object that contains itself'
  if (ancestors.length === DEPTH_MAX) return `a value nested deeper than ${DEPTH_MAX} levels`
  if (!plain && types.isBoxedPrimitive(value)) return mistakeIn(value.valueOf(), key, walk)
  ancestors.push(value)
  const mistake = Array.isArray(value) ? mistakeInItems(value, walk) : mistakeInMembers(value, plain, walk)
  ancestors.pop()
  return mistake
}

function mistakeInItems(items: readonly unknown[], walk: Walk): Mistake {
  walk.valuesLeft -= items.length
  if (walk.valuesLeft < 0) return TOO_MANY
  for (let at = 0; at < items.length; at++) {
    const mistake = mistakeIn(items[at], at, walk)
    if (mistake !== undefined) return placed(mistake, at, walk)
  }
  return undefined
}

function mistakeInMembers(value: object, plain: boolean, walk: Walk): Mistake {
  const keys = Object.keys(value)
  walk.valuesLeft -= keys.length
  if (walk.valuesLeft < 0) return TOO_MANY
  let isEmpty = true
  for (const key of keys) {
    const member = (value as Record<string, unknown>)[key]
    // JSON omits `undefined`, and typed code relies on that for optional fields.
    if (member === undefined) continue
    isEmpty = false
    const mistake = mistakeIn(member, key, walk)
    if (mistake !== undefined) return placed(mistake, key, walk)
  }
  const holdsMore = isEmpty && (!plain || Symbol.iterator in value || Symbol.asyncIterator in value)
  return holdsMore ? `${named(value)}, which JSON renders as {}` : undefined
}

/** Objects that JSON renders as something other than their content, whatever fields or `toJSON` they have. */
function misplaced(value: object): Mistake {
  if (types.isNativeError(value) || value instanceof Error) return `an Error (${named(value)}); throw it`
  if (ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value))
    return `bytes (${named(value)}) in JSON; return a Uint8Array by itself, or text`
  if (Symbol.asyncIterator in value) return `a stream (${named(value)}); streams cannot be sold`
  if (types.isPromise(value) || typeof (value as { then?: unknown }).then === 'function')
    return 'a promise that is not awaited'
  return (types.isMap(value) || types.isSet(value)) && !hasToJson(value) ? `a ${named(value)}` : undefined
}

interface HasToJson {
  toJSON(key: string): unknown
}

function hasToJson(value: unknown): value is HasToJson {
  return typeof (value as HasToJson).toJSON === 'function'
}

/** An array, or an object without a class: its prototype is `Object.prototype` of any realm, or it has none. */
function isPlain(value: object): boolean {
  if (Array.isArray(value)) return true
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

function named(value: object): string {
  const name: unknown = value.constructor?.name
  return typeof name === 'string' && name !== '' ? name.slice(0, NAME_LENGTH_MAX) : 'an object'
}

function placed(mistake: string, key: string | number, { path }: Walk): string {
  path.push(key)
  return mistake
}

/** A JSON pointer. @see RFC 6901 */
function pointerOf(path: readonly (string | number)[]): string {
  const pointer = path
    .toReversed()
    .map(key => `/${String(key).slice(0, NAME_LENGTH_MAX).replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('')
  return pointer.length > POINTER_LENGTH_MAX ? `${pointer.slice(0, POINTER_LENGTH_MAX)}…` : pointer
}
