/**
 * Keywords of Ajv's again, with a bound. As they are, `uniqueItems` compares each item with each other and `enum` each value
 * with each choice. Others take long for each byte of a dense body: a union and `contains` make an error for whatever does
 * not match, and a property that is not there is looked up in 30 ns. These are counted.
 */
import { _, type Ajv, type Code, type CodeKeywordDefinition, type KeywordCxt, str } from 'ajv'
import { identityOf, spend } from './steps.js'

/** Fewer choices are compared in code that is written out, which is faster than a set. */
const COMPARED_MAX = 16
/** An item that `contains` does not want has an error made for it; one of a unique list goes into two maps. */
const STEPS_AN_ITEM_SEARCHED = 3
const STEPS_AN_ITEM_KEPT = 5

/** Messages, parameters and order stay Ajv's: `before` names the keyword that stands behind each. */
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
  replace('enum', 'not', theirs => ({ code: (cxt: KeywordCxt) => chosen(cxt, theirs) }))
  replace('uniqueItems', 'maxContains', () => UNIQUE_ITEMS)
  replace('contains', 'uniqueItems', counted(items))
}

/** How many steps one look at a value takes. */
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

function chosen(cxt: KeywordCxt, { code }: CodeKeywordDefinition): void {
  const { gen, data, schema } = cxt
  const isScalar = schema.every((choice: unknown) => typeof choice !== 'object' || choice === null)
  if (schema.length > COMPARED_MAX && isScalar)
    cxt.pass(_`${gen.scopeValue('keyword', { ref: new Set(schema) })}.has(${data})`)
  else {
    if (!isScalar) count(cxt, schema.length)
    code(cxt)
  }
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

/** Where the first two equal items are. */
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
