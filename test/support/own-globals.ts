/** Hono's server on Node replaces classes of the web for its whole process, in which other test files run after it. */
const own = (Reflect.get(globalThis, 'ownGlobals') ?? {
  Request: globalThis.Request,
  Response: globalThis.Response,
}) as object
Object.assign(globalThis, own, { ownGlobals: own })
