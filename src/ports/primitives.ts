/**
 * The two computations that each platform has its own best way to do: Node by OpenSSL, browsers in JavaScript. Which one
 * is used is decided by the condition under which `#primitives` is resolved, so that neither loads the other's.
 */
export interface Primitives {
  sha512_256(bytes: Uint8Array): Uint8Array
  /** Whether an ed25519 signature over these bytes was made by the key. False, never an exception, for malformed input. */
  verifySignature(publicKey: Uint8Array, bytes: Uint8Array, signature: Uint8Array): boolean
}
