import type { JSONSchema } from '../domain/endpoint.js'

/** Compiles a JSON Schema (2020-12) once. @throws Error for what is no schema. The check itself never throws. */
export interface InputValidator {
  compile(schema: JSONSchema, options: { coerce: boolean }): InputCheck
}

/** `value` is the input as the handler shall see it: coerced where the schema describes a query. */
export type InputCheck = (input: unknown) => { readonly value: unknown } | { readonly invalid: InvalidInput }

export interface InvalidInput {
  /** JSON pointer of the first offending field; `''` is the whole body. */
  readonly field: string
  readonly message: string
}
