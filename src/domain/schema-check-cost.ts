/**
 * How often the check of a JSON Schema may look at one value of its input, computed from the schema alone. If
 * branches and references lead to the same value, that number multiplies at each level of nesting: a schema whose two
 * branches both refer back to it looks 2^64 times at a value 64 levels down.
 */
import { listOf, type Place, placesOf, referencesIn, type Schema } from './subschemas.js'
import { taggedIn } from './tagged-union.js'
import { isRecord } from './x402.js'

/** The greatest depth of a call's input. */
const DEPTH_MAX = 64
/** This many required properties, or places in a list, take the time of one check. */
const MEMBERS_A_CHECK = 16
/** The target of a reference that leaves the document: its cost cannot be known. */
const ELSEWHERE: Schema = Object.freeze({})

/** The innermost schema that looks at one value more than `checksMax` times, or `undefined` where there is none. */
export function costlyPlace(root: Schema, checksMax: number): Place | undefined {
  const places = placesOf(root)
  const costs = costsOf(places, checksMax)
  const costly = places.filter(({ schema }) => costs.get(schema)! > checksMax)
  return costly.reduce<Place | undefined>(
    (inner, place) => (inner && inner.pointer.length >= place.pointer.length ? inner : place),
    undefined,
  )
}

/** The schemas that apply to a schema's value: all of `every`, and one branch of each union. */
interface Applied {
  readonly every: readonly Schema[]
  readonly unions: readonly Union[]
}

interface Union {
  readonly branches: readonly Schema[]
  /** The property that distinguishes the branches. Each branch looks at it before any other property. */
  readonly tag: string | undefined
}

/**
 * The most checks of any one value, by the schema of that value or of a value around it. It counts for flat inputs,
 * then for deeper and deeper ones, until no count grows. It stops above `checksMax`: the exact excess does not
 * matter.
 */
function costsOf(places: readonly Place[], checksMax: number): ReadonlyMap<Schema, number> {
  const targetsOf = referencesIn(places)
  const applied = remembered((schema: Schema) => appliedBy(schema, targetsOf))
  const own = new Map<Schema, number>([[ELSEWHERE, Number.POSITIVE_INFINITY]])
  /** The checks of the value itself. A schema that leads back to itself without going deeper has no end. */
  const ownCost = (schema: Schema): number => {
    const known = own.get(schema)
    if (known !== undefined) return known
    own.set(schema, Number.POSITIVE_INFINITY)
    const { every, unions } = applied(schema)
    const cost = weightOf(schema) + sum([...every, ...unions.flatMap(({ branches }) => branches)], ownCost)
    own.set(schema, cost)
    return cost
  }
  const members = remembered((schema: Schema) => membersOf(schema, applied))
  let costs = new Map(places.map(({ schema }) => [schema, ownCost(schema)]))
  for (let depth = 0; depth < DEPTH_MAX; depth++) {
    const count = countingOn(costs, applied)
    const deeper = new Map(costs)
    for (const [schema, known] of costs) {
      if (known <= checksMax) deeper.set(schema, Math.max(known, count(schema, members(schema))))
    }
    const grew = [...costs].some(([schema, known]) => known < deeper.get(schema)!)
    costs = deeper
    if (!grew) break
  }
  return costs
}

/** The checks of a value's most checked member; `costs` has each schema's checks of a member. */
function countingOn(costs: ReadonlyMap<Schema, number>, applied: (schema: Schema) => Applied) {
  const cost = (schema: unknown): number => (isRecord(schema) ? costs.get(schema)! : 0)

  /** The checks of the property of this name; `undefined` is a property that no schema names. */
  const namedCost = (schema: Schema, name: string | undefined, names: ReadonlySet<string>): number => {
    const { properties, patternProperties, additionalProperties, propertyNames, unevaluatedProperties } =
      schema
    const patterns = isRecord(patternProperties) ? Object.entries(patternProperties) : []
    const matching = patterns.filter(([pattern]) => name === undefined || new RegExp(pattern, 'u').test(name))
    const isOwn = name !== undefined && isRecord(properties) && Object.hasOwn(properties, name)
    const direct =
      patterns.length +
      cost(propertyNames) +
      (isOwn ? cost(properties[name]) : 0) +
      Math.max(
        sum(matching, ([, each]) => cost(each)),
        isOwn ? 0 : cost(additionalProperties),
      ) +
      (name !== undefined && names.has(name) ? 0 : cost(unevaluatedProperties))
    return direct + appliedCost(schema, name, each => namedCost(each, name, names))
  }

  /** The checks of the item at this place; `undefined` is an item after all `prefixItems`. */
  const itemCost = (schema: Schema, place: number | undefined): number => {
    const { prefixItems, items, contains, unevaluatedItems } = schema
    const fixed = place === undefined ? undefined : listOf(prefixItems)[place]
    const direct = cost(fixed ?? items) + cost(contains) + cost(unevaluatedItems)
    return direct + appliedCost(schema, undefined, each => itemCost(each, place))
  }

  const appliedCost = (schema: Schema, name: string | undefined, costOf: (each: Schema) => number) => {
    const { every, unions } = applied(schema)
    const ofUnions = sum(unions, ({ branches, tag }) => {
      const costs = branches.map(costOf)
      return name !== undefined && name === tag ? sum(costs, each => each) : Math.max(...costs)
    })
    return sum(every, costOf) + ofUnions
  }

  return (schema: Schema, { names, places }: Members): number => {
    let most = 0
    for (const name of [...names, undefined]) most = Math.max(most, namedCost(schema, name, names))
    for (const place of [...places, undefined]) most = Math.max(most, itemCost(schema, place))
    return most
  }
}

/** The properties and list places that a schema, or another schema for the same value, treats separately. */
interface Members {
  readonly names: ReadonlySet<string>
  readonly places: ReadonlySet<number>
}

function membersOf(schema: Schema, applied: (schema: Schema) => Applied): Members {
  const names = new Set<string>()
  const places = new Set<number>()
  const seen = new Set<Schema>()
  const collect = (each: Schema) => {
    if (seen.has(each)) return
    seen.add(each)
    for (const name of keysOf(each.properties)) names.add(name)
    for (const place of listOf(each.prefixItems).keys()) places.add(place)
    const { every, unions } = applied(each)
    for (const other of [...every, ...unions.flatMap(({ branches }) => branches)]) collect(other)
  }
  collect(schema)
  return { names, places }
}

function appliedBy(schema: Schema, targetsOf: (reference: unknown) => readonly Schema[]): Applied {
  const every: unknown[] = [...listOf(schema.allOf), schema.not, schema.if]
  const unions: Union[] = []
  for (const dependent of [schema.dependentSchemas, schema.dependencies]) {
    if (isRecord(dependent)) every.push(...Object.values(dependent))
  }
  for (const reference of [schema.$ref, schema.$dynamicRef]) {
    if (reference === undefined) continue
    const targets = targetsOf(reference)
    every.push(...(targets.length === 0 ? [ELSEWHERE] : targets))
  }
  const conditional = [schema.then, schema.else].filter(isRecord)
  if (conditional.length > 0) unions.push({ branches: conditional, tag: undefined })
  for (const branches of [listOf(schema.anyOf).filter(isRecord), listOf(schema.oneOf).filter(isRecord)]) {
    const { tag, tagged } = taggedIn(branches, branch => followed(branch, targetsOf))
    if (tagged.length > 0) unions.push({ branches: tagged, tag })
    every.push(...branches.filter(branch => !tagged.includes(branch)))
  }
  return { every: every.filter(isRecord), unions }
}

/** Replaces a branch that is only a reference with its target. */
function followed(branch: Schema, targetsOf: (reference: unknown) => readonly Schema[]): Schema {
  const [target] = Object.keys(branch).length === 1 ? targetsOf(branch.$ref) : []
  return isRecord(target) ? target : branch
}

function weightOf({ required, prefixItems }: Schema): number {
  return 1 + Math.floor((listOf(required).length + listOf(prefixItems).length) / MEMBERS_A_CHECK)
}

function keysOf(value: unknown): readonly string[] {
  return isRecord(value) ? Object.keys(value) : []
}

function sum<Each>(list: readonly Each[], of: (each: Each) => number): number {
  let total = 0
  for (const each of list) total += of(each)
  return total
}

function remembered<Key extends object, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const known = new Map<Key, Value>()
  return key => {
    const found = known.get(key) ?? make(key)
    known.set(key, found)
    return found
  }
}
