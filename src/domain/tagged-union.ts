/** Unions whose branches one property tells apart, so that no more than one of them looks at the rest of the value. */
import { listOf, type Schema } from './subschemas.js'
import { isRecord } from './x402.js'

/** Checked before `properties`, or no check at all. Anything else in a branch may look at the value before its tag does. */
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
 * The branches that require one property, look at it before any other, and allow one value of it, which is no other
 * branch's. None where a value may belong to two: then each branch may look at the whole.
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
