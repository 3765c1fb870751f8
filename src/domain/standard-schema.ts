/**
 * The two interfaces of https://standardschema.dev, as far as they are used here. They are copied, as the standard
 * allows: types from a package would make it a dependency of everybody who compiles against this one.
 */

/** A schema of zod, valibot, arktype or another library of the standard. */
export interface StandardSchema<Input = unknown, Output = Input> {
  /** The properties of the standard. */
  readonly '~standard': StandardProperties<Input, Output>
}

/** The properties of a {@link StandardSchema}. */
export interface StandardProperties<Input = unknown, Output = Input> {
  /** The version of the standard. */
  readonly version: 1
  /** The library. */
  readonly vendor: string
  /** Checks a value. */
  readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
  /** Exists in types alone. */
  readonly types?:
    | {
        /** The type of what is sent. */
        readonly input: Input
        /** The type of what the schema makes of it. */
        readonly output: Output
      }
    | undefined
  /** Writes the schema as JSON Schema. An endpoint needs it. */
  readonly jsonSchema?: {
    /** Of what is sent. It throws where JSON Schema cannot say it. */
    readonly input: WriteJsonSchema
    /** Of what the schema makes of it. It throws where JSON Schema cannot say it. */
    readonly output: WriteJsonSchema
  }
}

/** Writes JSON Schema in the dialect that is asked for. */
export type WriteJsonSchema = (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>

/** The result of a check: a value, or at least one issue. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }

/** One reason why a value does not satisfy a schema. */
export interface StandardIssue {
  /** For people. */
  readonly message: string
  /** Where it is: each step is a key, or has one. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** Arktype's schemas are functions. */
export function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== 'object' || value === null) && typeof value !== 'function') return false
  const { '~standard': standard } = value as { '~standard'?: unknown }
  return (
    typeof standard === 'object' &&
    standard !== null &&
    typeof (standard as { validate?: unknown }).validate === 'function'
  )
}
