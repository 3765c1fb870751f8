/**
 * Keywords of Ajv with a bound. Every keyword whose time grows with its own entries, with the members of a value or with the
 * length of a text counts its steps, and so does every reference: whatever the schema and the input, a check ends. Without this
 * file a body of 1 MiB blocks the process for 1.1 s (a union of 91 constants), for more than 2 s (60 `contains`, 1,000 properties),
 * and for ever where two branches of a union both refer back to it.
 *
 * Ajv's own `uniqueItems` compares each item with each other item, and its `enum` compares each value with each choice: these are
 * replaced.
 */
import { _, type Ajv, type Code, type CodeKeywordDefinition, type KeywordCxt, Name, str } from 'ajv'
import { canonicalJson, escapePointer } from '../../domain/json.js'
import { SlowSchema } from '../../ports/input-validator.js'
import { slownessOf } from './linear-pattern.js'
import { STEPS_A_CHARACTER, spend } from './step-budget.js'

/** Up to this number, generated comparisons are faster than a set. */
const COMPARED_MAX = 16
/** `contains` makes an error for each item that does not match; each item of a unique list goes into two maps. */
const STEPS_AN_ITEM_SEARCHED = 3
const STEPS_AN_ITEM_KEPT = 5
/** V8 keeps the names of a large object in a dictionary: to look one up takes so many steps. */
const STEPS_A_NAME = 12
const STEPS_A_CHARACTER_COMPARED = 1 / 4
/** Of the canonical text of a value. */
const STEPS_A_CHARACTER_WRITTEN = 1 / 2

/** The steps of one check of a value. */
type Steps = (cxt: KeywordCxt) => Code | number

const ERRORS = new Name('vErrors')

const one: Steps = () => 1
const entries: Steps = ({ schema }) => Object.keys(schema).length
const names: Steps = ({ schema }) => Object.entries(schema).flat(2).length
/** Ajv copies the errors so far when a referenced schema adds its own. */
const reference: Steps = () => _`1 + (${ERRORS}?.length ?? 0)`
const members: Steps = ({ data }) => _`${STEPS_A_NAME} * Object.keys(${data}).length`
const entriesByMembers: Steps = cxt => _`${entries(cxt)} * ${members(cxt)}`
const items: Steps = ({ data }) => _`${data}.length`
const characters: Steps = ({ data }) => _`${data}.length * ${STEPS_A_CHARACTER}`

const STEPS: Readonly<Record<string, Steps>> = {
  $ref: reference,
  $dynamicRef: reference,
  not: one,
  if: one,
  allOf: entries,
  anyOf: entries,
  oneOf: entries,
  required: entries,
  properties: entries,
  dependencies: entries,
  dependentRequired: names,
  dependentSchemas: entries,
  patternProperties: entriesByMembers,
  additionalProperties: members,
  unevaluatedProperties: members,
  propertyNames: members,
  minProperties: members,
  maxProperties: members,
  prefixItems: entries,
  items,
  unevaluatedItems: items,
  contains: ({ data }) => _`${STEPS_AN_ITEM_SEARCHED} * ${data}.length`,
  minLength: characters,
  maxLength: characters,
  // Formats of numbers have no length.
  format: ({ data }) => _`(${data}.length || 0) * ${STEPS_A_CHARACTER}`,
}

/** Why a keyword's check would be slow, so that the schema is refused where it is defined. */
const SLOWNESS: Readonly<Record<string, (cxt: KeywordCxt) => string | undefined>> = {
  format: ({ schema }) => (schema === 'url' ? SLOW_URL : undefined),
  pattern: ({ schema, parentSchema }) => slownessOf(schema, parentSchema.maxLength),
  patternProperties: ({ schema }) =>
    Object.keys(schema)
      .map(name => slownessOf(name))
      .find(Boolean),
}

/** A regular expression of ajv-formats. */
const SLOW_URL = "takes time that grows with the square of the text; use the format 'uri'"

/** Each instance of Ajv has its own definitions: they change in place. Messages stay as in Ajv, but the earlier of two equal items is named first. */
export function countKeywords(ajv: Ajv): void {
  const change = (
    keyword: string,
    own: (theirs: CodeKeywordDefinition) => Partial<CodeKeywordDefinition>,
  ) => {
    const theirs = ajv.getKeyword(keyword) as CodeKeywordDefinition
    Object.assign(theirs, own({ ...theirs }))
  }
  const before = (keyword: string, first: (cxt: KeywordCxt) => void) =>
    change(keyword, ({ code }) => ({
      code(cxt, type) {
        first(cxt)
        code(cxt, type)
      },
    }))
  for (const [keyword, steps] of Object.entries(STEPS)) before(keyword, cxt => count(cxt, steps(cxt)))
  change('enum', theirs => ({ code: cxt => chosen(cxt, cxt.schema, theirs) }))
  change('const', theirs => ({ code: cxt => chosen(cxt, [cxt.schema], theirs) }))
  change('uniqueItems', () => UNIQUE_ITEMS)
  for (const [keyword, slowness] of Object.entries(SLOWNESS))
    before(keyword, cxt => {
      const why = slowness(cxt)
      if (why !== undefined) throw new SlowSchema(keyword, placeOf(cxt), why)
    })
}

function placeOf({ parentSchema, it }: KeywordCxt): string {
  return pointerTo(parentSchema, it.schemaEnv.root.schema) ?? ''
}

function pointerTo(wanted: unknown, within: unknown): string | undefined {
  if (within === wanted) return ''
  if (typeof within !== 'object' || within === null) return undefined
  for (const [name, part] of Object.entries(within)) {
    const rest = pointerTo(wanted, part)
    if (rest !== undefined) return `/${escapePointer(name)}${rest}`
  }
  return undefined
}

function count({ gen }: KeywordCxt, steps: Code | number): void {
  gen.code(_`${gen.scopeValue('keyword', { ref: spend })}(${steps})`)
}

/** Replaces Ajv's comparison, which calls the input's own `toString` and `valueOf`, and throws where they are no functions. */
function chosen(cxt: KeywordCxt, choices: readonly unknown[], { code }: CodeKeywordDefinition): void {
  const { gen, data } = cxt
  const kept = (ref: unknown) => gen.scopeValue('keyword', { ref })
  if (choices.some(choice => typeof choice === 'object' && choice !== null)) {
    count(cxt, JSON.stringify(choices).length * STEPS_A_CHARACTER_COMPARED)
    cxt.pass(_`${kept((value: unknown) => choices.some(choice => isEqual(choice, value)))}(${data})`)
  } else if (choices.length > COMPARED_MAX) cxt.pass(_`${kept(new Set(choices))}.has(${data})`)
  else code(cxt)
}

function isEqual(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  if (Array.isArray(one) !== Array.isArray(other)) return false
  const names = Object.keys(one)
  if (names.length !== Object.keys(other).length) return false
  return names.every(name => {
    return Object.hasOwn(other, name) && isEqual(one[name as never], other[name as never])
  })
}

const UNIQUE_ITEMS: Pick<CodeKeywordDefinition, 'error' | 'code'> = {
  error: {
    message: ({ params: { i, j } }) =>
      str`must NOT have duplicate items (items ## ${j} and ${i} are identical)`,
    params: ({ params: { i, j } }) => _`{i: ${i}, j: ${j}}`,
  },
  code(cxt) {
    if (!cxt.schema) return
    count(cxt, _`${STEPS_AN_ITEM_KEPT} * ${cxt.data}.length`)
    const find = cxt.gen.scopeValue('func', { ref: firstEqual })
    const equal = cxt.gen.const('equal', _`${find}(${cxt.data})`)
    cxt.setParams({ i: _`${equal}[1]`, j: _`${equal}[0]` })
    cxt.fail(_`${equal} !== undefined`)
  },
}

/** The indexes of the first two equal items. */
function firstEqual(items: readonly unknown[]): readonly [number, number] | undefined {
  if (items.length < 2) return undefined
  const places = new Map<unknown, number>()
  for (const [at, item] of items.entries()) {
    const identity = identityOf(item)
    const before = places.get(identity)
    if (before !== undefined) return [before, at]
    places.set(identity, at)
  }
  return undefined
}

/** The same for equal JSON values, and other for others. The text of an object or a list costs steps. */
function identityOf(value: unknown): unknown {
  if (typeof value === 'string') return `"${value}`
  if (typeof value !== 'object' || value === null) return value
  const text = canonicalJson(value)
  spend(text.length * STEPS_A_CHARACTER_WRITTEN)
  return text
}
