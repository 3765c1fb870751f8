/** What the HTTP door itself refuses, before any call is made of a request. */
export class HttpRefusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message)
  }
}

/** The one shape of every error body: `{"error": {"code", "message", …}}`. */
export function errorBody(code: string, message: string, fields?: Readonly<Record<string, unknown>>) {
  return { error: { code, message, ...fields } }
}
