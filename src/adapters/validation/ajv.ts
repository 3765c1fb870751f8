/** JSON Schema 2020-12 by Ajv. One instance a schema, so that no two sellers' schemas can meet. */
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'
import addFormatsModule from 'ajv-formats'
import type { JSONSchema } from '../../domain/endpoint.js'
import type { InputCheck, InputValidator, InvalidInput } from '../../ports/input-validator.js'

// The package's typings describe a CommonJS default export that Node's ESM loader hands over one level deeper.
const addFormats = addFormatsModule as unknown as (ajv: Ajv2020) => void

export function ajvValidator(): InputValidator {
  return {
    compile(schema, { coerce }) {
      const ajv = new Ajv2020({ strict: false, coerceTypes: coerce ? 'array' : false, logger: false })
      addFormats(ajv)
      const validate = ajv.compile(withoutIds(schema) as object)
      const check: InputCheck = input => {
        // Coercion writes into what it checks; the request stays as received.
        const value = coerce ? structuredClone(input) : input
        return validate(value) ? { value } : { invalid: invalidInput(validate.errors?.[0]) }
      }
      return check
    },
  }
}

/** `$schema` and `$id` name documents elsewhere; the Bazaar refuses them, and here they could only collide. */
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
  return { field, message: `${instancePath || 'The input'} ${message}` }
}

/** RFC 6901. */
function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}
