import type { JSONSchema } from '../domain/endpoint-schemas.js'

/** Compiles a JSON Schema (2020-12) once. The check itself never throws, and answers at once. */
export interface InputValidator {
  /**
   * @throws SlowSchema where an input's check could take much longer than its size suggests, unless `allowSlow`
   * @throws Error for an invalid schema
   */
  compile(
    schema: JSONSchema,
    options: { readonly coerce: boolean; readonly allowSlow?: boolean | undefined },
  ): (input: unknown) => Checked
}

/** The schema is valid, but a stranger's input could make its check slow. */
export class SlowSchema extends Error {
  constructor(
    readonly keyword: string,
    /** A JSON pointer (RFC 6901) to the schema that has the keyword. */
    readonly pointer: string,
    why: string,
  ) {
    super(why)
  }
}

/** The check of an input. A library's may take its time, throw, or reject; a JSON Schema's never does. */
export type InputCheck = (input: unknown) => Checked | Promise<Checked>

/**
 * `value` is the input as the handler receives it: coerced where a JSON Schema describes a query, a library's output where
 * the schema is a library's.
 */
export type Checked = { readonly value: unknown } | { readonly invalid: InvalidInput }

export interface InvalidInput {
  /** JSON pointer of the first offending field; `''` is the whole body. */
  readonly field: string
  readonly message: string
}
