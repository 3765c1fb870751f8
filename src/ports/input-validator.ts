import type { JSONSchema } from '../domain/endpoint.js'

/** Compiles a JSON Schema (2020-12) once. The check itself never throws. */
export interface InputValidator {
  /**
   * @throws SlowSchema where an input could take much longer to check than its size says, unless `allowSlow`
   * @throws Error for what is no schema
   */
  compile(schema: JSONSchema, options: { readonly coerce: boolean; readonly allowSlow?: boolean }): InputCheck
}

/** A schema that is well formed, and whose check a stranger could make slow. */
export class SlowSchema extends Error {
  constructor(
    readonly keyword: string,
    /** RFC 6901; of the schema in which the keyword stands. */
    readonly pointer: string,
    why: string,
  ) {
    super(why)
  }
}

/** `value` is the input as the handler shall see it: coerced where the schema describes a query. */
export type InputCheck = (input: unknown) => { readonly value: unknown } | { readonly invalid: InvalidInput }

export interface InvalidInput {
  /** JSON pointer of the first offending field; `''` is the whole body. */
  readonly field: string
  readonly message: string
}
