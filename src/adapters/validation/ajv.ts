/** JSON Schema 2020-12 by Ajv. Each schema has an instance of its own, so that two schemas cannot affect each other. */
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'
import addFormatsModule from 'ajv-formats'
import { LRUCache } from 'lru-cache'
import type { JSONSchema } from '../../domain/endpoint-schemas.js'
import { shown } from '../../domain/errors.js'
import { escapePointer, NumberOverflow, plainNumbers } from '../../domain/json.js'
import type { Checked, InputValidator, InvalidInput } from '../../ports/input-validator.js'
import { countKeywords } from './bounded-keywords.js'
import { linearPattern } from './linear-pattern.js'
import { beginCheck, TooManySteps } from './step-budget.js'

// The package's types describe a CommonJS default export. In Node's ESM loader it is one level deeper.
const addFormats = addFormatsModule as unknown as (ajv: Ajv2020) => void

/** More different schemas than any process has whose endpoints are written by people. */
const CHECKS_MAX = 10_000

type SchemaCheck = (input: unknown) => Checked

/** Checks by schema and coercion: equal schemas of several endpoints are compiled once. */
const checks = new LRUCache<string, SchemaCheck, Parameters<typeof compiled>>({
  max: CHECKS_MAX,
  memoMethod: (_, __, { context }) => compiled(...context),
})

export function ajvValidator(): InputValidator {
  return {
    compile(schema, { coerce, allowSlow = false }) {
      const key = `${coerce} ${allowSlow} ${JSON.stringify(schema)}`
      return checks.memo(key, { context: [schema, coerce, allowSlow] })
    },
  }
}

let metaSchema: Ajv2020 | undefined

function compiled(schema: JSONSchema, coerce: boolean, allowSlow: boolean): SchemaCheck {
  // A copy: a later change of the seller's schema must change no check.
  const own = withoutIds(structuredClone(schema)) as object
  // One instance compiles the meta-schema for all schemas. In each of a thousand instances it took 7 of 9 ms.
  metaSchema ??= new Ajv2020({ strict: false, logger: false })
  if (!metaSchema.validateSchema(own))
    throw new Error(`schema is invalid: ${metaSchema.errorsText(metaSchema.errors)}`)
  const names = Object.keys(own)
  if (names.length > 0 && !names.some(name => metaSchema!.getKeyword(name)))
    throw new Error(`schema is invalid: no word of JSON Schema is among ${names.map(shown).join(', ')}`)
  const coerceTypes = coerce ? 'array' : false
  const ajv = new Ajv2020({
    strict: false,
    logger: false,
    coerceTypes,
    meta: false,
    validateSchema: false,
    ...(!allowSlow && { code: { regExp: LINEAR } }),
  })
  addFormats(ajv)
  if (!allowSlow) countKeywords(ajv)
  const validate = ajv.compile(own)
  return input => {
    // Coercion changes the value that it checks; the request must stay as received.
    const value = coerce ? structuredClone(input) : input
    try {
      beginCheck()
      if (!validate(value)) return { invalid: invalidInput(validate.errors?.[0]) }
    } catch (cause) {
      return { invalid: unchecked(cause) }
    }
    return coerce ? coerced(value) : { value }
  }
}

/** Ajv coerces every text that JavaScript reads as a number: `1e999` becomes Infinity, whatever `strictNumbers` is. */
function coerced(value: unknown): Checked {
  try {
    return { value: plainNumbers(value) }
  } catch (cause) {
    if (!(cause instanceof NumberOverflow)) throw cause
    return { invalid: { field: cause.pointer, message: cause.message } }
  }
}

/** A regular expression engine, in the form that Ajv accepts. */
const LINEAR = Object.assign((pattern: string) => linearPattern(pattern).matcher, { code: 'linearPattern' })

/** Turns a check that was stopped into invalid input. V8's engine throws a RangeError on texts of some megabytes. */
function unchecked(cause: unknown): InvalidInput {
  if (!(cause instanceof TooManySteps || cause instanceof RangeError)) throw cause
  return { field: '', message: 'The input has more in it than can be checked in time; send less' }
}

/** `$schema` and `$id` name other documents. The Bazaar refuses them, and here they could only collide. */
function withoutIds(schema: JSONSchema): JSONSchema {
  if (typeof schema !== 'object' || schema === null) return schema
  const { $schema: _, $id: __, ...rest } = schema as Record<string, unknown>
  return rest as JSONSchema
}

function invalidInput(error: ErrorObject | undefined): InvalidInput {
  if (error === undefined) return { field: '', message: 'The input is invalid' }
  const { instancePath, params, message = 'is invalid' } = error
  const missing = params.missingProperty ?? params.additionalProperty ?? params.unevaluatedProperty
  const field = missing === undefined ? instancePath : `${instancePath}/${escapePointer(String(missing))}`
  const allowed: readonly unknown[] = params.allowedValues ?? []
  const are = allowed.length === 0 || allowed.length > 10 ? '' : `: ${allowed.map(shown).join(', ')}`
  return { field, message: `${instancePath || 'The input'} ${message}${are}` }
}
