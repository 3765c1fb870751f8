/** Finds unions whose branches differ in one property, so that at most one branch looks at the rest of the value. */
import { listOf, type Schema } from './subschemas.js'
import { isRecord } from './x402.js'

/**
 * Keywords that are checked before `properties`, or not checked at all. Any other keyword in a branch may look at the
 * value before its tag does.
 */
const CHECKED_BEFORE: ReadonlySet<string> = new Set([
  'type',
  'required',
  'properties',
  'title',
  'description',
  'examples',
  'default',
  '$comment',
])

/**
 * The branches that require one property, look at it before any other, and allow one value of it that no other branch
 * allows. None where a value may match two branches: then each branch may look at the whole value.
 */
export function taggedIn(branches: readonly Schema[], meant: (branch: Schema) => Schema) {
  const firstNames = branches.map(branch => firstProperty(meant(branch))).filter(name => name !== undefined)
  const tag = firstNames[0]
  const tagged = branches.filter(branch => tag !== undefined && tagValue(meant(branch), tag) !== undefined)
  const values = new Set(tagged.map(branch => tagValue(meant(branch), tag!)))
  return { tag, tagged: values.size === tagged.length ? tagged : [] }
}

function firstProperty({ properties }: Schema): string | undefined {
  return isRecord(properties) ? Object.keys(properties)[0] : undefined
}

function tagValue(branch: Schema, tag: string): unknown {
  const { properties, additionalProperties, required } = branch
  const isPlain = Object.keys(branch).every(keyword => {
    return (
      CHECKED_BEFORE.has(keyword) || (keyword === 'additionalProperties' && !isRecord(additionalProperties))
    )
  })
  if (!isPlain || !isRecord(properties) || !listOf(required).includes(tag)) return undefined
  const schema = properties[tag]
  if (firstProperty(branch) !== tag || !isRecord(schema)) return undefined
  const only = listOf(schema.enum).length === 1 ? listOf(schema.enum)[0] : schema.const
  return typeof only === 'object' ? undefined : only
}
