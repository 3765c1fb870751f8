/**
 * Keywords of Ajv with a bound. Ajv's own `uniqueItems` compares each item with each other item, and its `enum` compares
 * each value with each choice. Other keywords take long for each byte of a dense body: a union and `contains` make an error
 * for each mismatch, and the look-up of a missing property takes 30 ns. The steps of these are counted. Without this file a
 * body of 1 MiB blocks the process for 0.75 s (an enum of 1,000 texts), 1.1 s (a union of 91 constants) or more than 2 s
 * (unique objects, 60 `contains`, 1,000 properties, 1,000 dependent ones).
 */
import { _, type Ajv, type Code, type CodeKeywordDefinition, type KeywordCxt, str } from 'ajv'
import { identityOf, spend } from './check-steps.js'

/** Up to this number, generated comparisons are faster than a set. */
const COMPARED_MAX = 16
/** `contains` makes an error for each item that does not match; each item of a unique list goes into two maps. */
const STEPS_AN_ITEM_SEARCHED = 3
const STEPS_AN_ITEM_KEPT = 5

/** Messages, parameters and order stay as in Ajv: `before` names the keyword that follows each. */
export function useLinearKeywords(ajv: Ajv): void {
  const replace = (keyword: string, before: string, own: (theirs: CodeKeywordDefinition) => object) => {
    const theirs = ajv.getKeyword(keyword) as CodeKeywordDefinition
    ajv.removeKeyword(keyword).addKeyword({ ...theirs, ...own(theirs), before })
  }
  replace('oneOf', 'allOf', counted(branches))
  replace('anyOf', 'oneOf', counted(branches))
  replace('dependentSchemas', 'unevaluatedProperties', counted(names))
  replace('dependentRequired', 'dependentSchemas', counted(names))
  replace('properties', 'patternProperties', counted(names))
  replace('dependencies', 'properties', counted(names))
  replace('enum', 'not', theirs => ({ code: (cxt: KeywordCxt) => chosen(cxt, cxt.schema, theirs) }))
  replace('const', 'enum', theirs => ({ code: (cxt: KeywordCxt) => chosen(cxt, [cxt.schema], theirs) }))
  replace('uniqueItems', 'maxContains', () => UNIQUE_ITEMS)
  replace('contains', 'uniqueItems', counted(items))
}

/** The number of steps of one check of a value. */
type Steps = (cxt: KeywordCxt) => Code | number

const branches: Steps = ({ schema }) => schema.length
const items: Steps = ({ data }) => _`${STEPS_AN_ITEM_SEARCHED} * ${data}.length`
const names: Steps = ({ schema }) => Object.keys(schema).length

function counted(steps: Steps) {
  return ({ code }: CodeKeywordDefinition) => ({
    code(cxt: KeywordCxt) {
      count(cxt, steps(cxt))
      code(cxt)
    },
  })
}

function count({ gen }: KeywordCxt, steps: Code | number): void {
  gen.code(_`${gen.scopeValue('keyword', { ref: spend })}(${steps})`)
}

/** Replaces Ajv's comparison, which calls the input's own `toString` and `valueOf`, and throws where they are no functions. */
function chosen(cxt: KeywordCxt, choices: readonly unknown[], { code }: CodeKeywordDefinition): void {
  const { gen, data } = cxt
  const kept = (ref: unknown) => gen.scopeValue('keyword', { ref })
  if (choices.some(choice => typeof choice === 'object' && choice !== null)) {
    count(cxt, choices.length)
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

const UNIQUE_ITEMS: CodeKeywordDefinition = {
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
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
  const places = new Map<number, number>()
  for (const [at, item] of items.entries()) {
    const identity = identityOf(item)
    const before = places.get(identity)
    if (before !== undefined) return [before, at]
    places.set(identity, at)
  }
  return undefined
}
