/** The schemas of an endpoint: JSON Schema, or a library's own that is published as JSON Schema. */
import type { FromSchema, JSONSchema } from 'json-schema-to-ts'
import { isRecord } from './x402.js'

export type { JSONSchema }

/** A library's schema with a JSON Schema written by hand, for what the library cannot write. */
export interface DescribedSchema {
  /** The schema that checks. */
  readonly schema: StandardSchema
  /** The JSON Schema (2020-12) that is published. It is not used to check. */
  readonly jsonSchema: JSONSchema
}

/**
 * A JSON Schema (2020-12); a schema of a library of the Standard Schema and Standard JSON Schema interfaces, such as
 * zod 4 and arktype, or valibot's in `toStandardJsonSchema`; or a schema with its JSON Schema beside it.
 */
export type EndpointSchema = JSONSchema | StandardSchema | DescribedSchema

/** The type of a body that a schema lets through: the output of a library's schema; `unknown` without a schema. */
// Without strictNullChecks `undefined` extends everything, so it comes first.
export type BodyOf<Input> = [Input] extends [undefined]
  ? unknown
  : Input extends { readonly '~standard': { readonly types?: infer Types } }
    ? NonNullable<Types> extends { readonly output: infer Output }
      ? Output
      : unknown
    : Input extends { readonly schema: infer Schema extends StandardSchema }
      ? BodyOf<Schema>
      : Input extends JSONSchema
        ? // Nothing fills the defaults of a JSON Schema in.
          FromSchema<Input, { keepDefaultedPropertiesOptional: true }>
        : unknown

/**
 * What a handler may return, where its endpoint has an `output` schema: what satisfies it, a `Response` or a stream. A library's schema
 * reads the answer, so it is the schema's input.
 */
export type AnswerOf<Output> = [Output] extends [undefined]
  ? unknown
  : [EndpointSchema] extends [Output]
    ? unknown
    :
        | Loose<
            Output extends { readonly '~standard': { readonly types?: infer Types } }
              ? NonNullable<Types> extends { readonly input: infer Input }
                ? Input
                : unknown
              : BodyOf<Output>
          >
        | Response
        | ReadableStream
        | AsyncIterable<unknown>

/** Read-only values may be returned, and interfaces, which have no index signature. */
type Loose<Value> = Value extends readonly (infer Item)[]
  ? readonly Loose<Item>[]
  : Value extends object
    ? Value | { readonly [Name in keyof Value as string extends Name ? never : Name]: Loose<Value[Name]> }
    : Value

/** The schemas of a checked endpoint: what is published, and what checks instead of it. */
export interface EndpointSchemas {
  /** JSON Schema of the body, or of the query of a GET. */
  readonly input?: JSONSchema
  /** The library's schema, which checks instead of `input`; absent where `input` was given as JSON Schema. */
  readonly inputSchema?: DescribedSchema
  /** JSON Schema of the answer's body. */
  readonly output?: JSONSchema
  /** The library's schema, which checks answers besides `output`; absent where `output` was given as JSON Schema. */
  readonly outputSchema?: DescribedSchema
}

interface Given extends Pick<EndpointSchemas, 'inputSchema' | 'outputSchema'> {
  readonly input?: EndpointSchema
  readonly output?: EndpointSchema
}

type Side = 'input' | 'output'

export function schemasOf(given: Given, refuse: (why: string) => never): EndpointSchemas {
  const input = described('input', given.input, given.inputSchema, refuse)
  const output = described('output', given.output, given.outputSchema, refuse)
  return {
    ...(input && { input: input.jsonSchema, ...(input.schema && { inputSchema: input as DescribedSchema }) }),
    ...(output && {
      output: output.jsonSchema,
      ...(output.schema && { outputSchema: output as DescribedSchema }),
    }),
  }
}

type Described = Pick<DescribedSchema, 'jsonSchema'> & Partial<DescribedSchema>

/**
 * `known` is of an endpoint that was checked before. It counts only with the JSON Schema that it published: who copies an
 * endpoint and gives the copy another schema means that one.
 */
function described(
  side: Side,
  given: EndpointSchema | undefined,
  known: DescribedSchema | undefined,
  refuse: (why: string) => never,
): Described | undefined {
  if (given === undefined) return undefined
  if (isStandardSchema(given)) return { jsonSchema: written(side, given, refuse), schema: given }
  if (!isRecord(given)) return refuse(`${side} is not a JSON Schema object`)
  const { schema, jsonSchema } = given as Partial<DescribedSchema>
  if (!isStandardSchema(schema))
    return known?.jsonSchema === given ? known : { jsonSchema: given as JSONSchema }
  if (!isRecord(jsonSchema)) return refuse(`${side}.jsonSchema is not a JSON Schema object`)
  return { jsonSchema: plainCopy(jsonSchema), schema }
}

function written(side: Side, schema: StandardSchema, refuse: (why: string) => never): JSONSchema {
  const { vendor, jsonSchema } = schema['~standard']
  const wayOut = `give ${side}: { schema, jsonSchema }, with the JSON Schema that is published`
  const ofLibrary = '(valibot: toStandardJsonSchema of @valibot/to-json-schema)'
  const none = `gives no JSON Schema. Where the library has a way, take it ${ofLibrary}, or ${wayOut}`
  if (typeof jsonSchema?.[side] !== 'function') return refuse(`${side} is a schema of ${vendor} that ${none}`)
  try {
    return plainCopy(jsonSchema[side]({ target: 'draft-2020-12' }))
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    const not = `cannot be written as JSON Schema (${why}): ${wayOut}`
    return refuse(`${side} is a schema of ${vendor} that ${not}`)
  }
}

/** Libraries add properties of their own, and what they return may change later. */
function plainCopy(schema: unknown): JSONSchema {
  return JSON.parse(JSON.stringify(schema))
}

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
function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== 'object' || value === null) && typeof value !== 'function') return false
  const { '~standard': standard } = value as { '~standard'?: unknown }
  return (
    typeof standard === 'object' &&
    standard !== null &&
    typeof (standard as { validate?: unknown }).validate === 'function'
  )
}
