/**
 * Keywords of Ajv's again, with a bound: as they are, `uniqueItems` compares each item with each other, `enum` each value
 * with each choice, and a union makes an error for each branch that does not match, which takes ten times the check.
 */
import { _, type Ajv, type CodeKeywordDefinition, type KeywordCxt, str } from 'ajv'
import { identityOf, spend } from './steps.js'

/** Fewer choices are compared in code that is written out, which is faster than a set. */
const CHOICES_COMPARED_MAX = 16

/** Messages, parameters and order stay Ajv's: `before` names the keyword that stands behind each. */
export function useLinearKeywords(ajv: Ajv): void {
  const replace = (keyword: string, before: string, own: (theirs: CodeKeywordDefinition) => object) => {
    const theirs = ajv.getKeyword(keyword) as CodeKeywordDefinition
    ajv.removeKeyword(keyword).addKeyword({ ...theirs, ...own(theirs), before })
  }
  replace('oneOf', 'allOf', counted)
  replace('anyOf', 'oneOf', counted)
  replace('enum', 'not', theirs => ({ code: (cxt: KeywordCxt) => chosen(cxt, theirs) }))
  replace('uniqueItems', 'prefixItems', () => UNIQUE_ITEMS)
}

function counted({ code }: CodeKeywordDefinition) {
  return {
    code(cxt: KeywordCxt) {
      cxt.gen.code(_`${cxt.gen.scopeValue('keyword', { ref: spend })}(${cxt.schema.length})`)
      code(cxt)
    },
  }
}

function chosen(cxt: KeywordCxt, { code }: CodeKeywordDefinition): void {
  const { gen, data, schema } = cxt
  const isLong = schema.length > CHOICES_COMPARED_MAX
  const isScalar = schema.every((choice: unknown) => typeof choice !== 'object' || choice === null)
  if (isLong && isScalar) cxt.pass(_`${gen.scopeValue('keyword', { ref: new Set(schema) })}.has(${data})`)
  else code(cxt)
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
