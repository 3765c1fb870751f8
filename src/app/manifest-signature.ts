/** Signed manifests: a proof that the owner of an address vouches for the whole content, wherever the manifest was found. */
import { verifySignature } from '#platform'
import { decodeAddress } from '../adapters/algorand/address.js'
import { fromBase64, toBase64 } from '../domain/bytes.js'
import { canonicalJson } from '../domain/json.js'
import type { Manifest, ManifestSignature } from '../domain/manifest.js'
import { isRecord } from '../domain/x402.js'
import { type Clock, withTimeout } from '../ports/clock.js'

/** Who vouches for a manifest, and for which origin. */
export interface ManifestSigner {
  /**
   * The agent's own origin, such as `https://agent.example`. Only a manifest that is requested there is signed: every caller
   * chooses its `Host` header, and the key must not vouch for a caller's URLs.
   */
  readonly origin: string
  /** The Algorand address whose key signs. Readers expect the manifest's `payTo`, unless they know better. */
  readonly address: string
  /**
   * A plain ed25519 signature (64 bytes) over exactly these bytes: JSON, so never a transaction, and without the `MX` that
   * algosdk's `signBytes` puts before them. It is called once, not for each request. The server never sees the key.
   */
  sign(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>
}

const SIGN_TIMEOUT_MS = 10_000

/** @throws Error where the signer fails, takes too long, or signs with another key than the address says. */
export async function signedManifest(
  manifest: Manifest,
  signer: ManifestSigner,
  clock: Pick<Clock, 'after'>,
): Promise<Manifest> {
  const { address } = signer
  const signing = Promise.resolve(signer.sign(signedBytes(manifest)))
  const value = toBase64(await withTimeout(clock, SIGN_TIMEOUT_MS, signing))
  const signed: Manifest = { ...manifest, signature: { alg: 'ed25519', address, value } }
  const verdict = verifyManifest(signed, { address })
  if (!verdict.ok) throw new Error(`the signer's signature is refused: ${verdict.reason}`)
  return signed
}

/** What {@link verifyManifest} found. */
export type ManifestVerdict =
  | { readonly ok: true; readonly address: string }
  | { readonly ok: false; readonly reason: 'unsigned' | 'malformed' | 'foreign_signer' | 'bad_signature' }

/**
 * Whether a manifest, exactly as it was read, was signed by the key of `address`.
 *
 * It proves that this key vouches for the content. It does not prove that the manifest is current, nor that the host
 * which served it is the signer's: compare the endpoints' URLs, and the 402's `payTo`, with what it says.
 *
 * @param manifest As `SvcClient.discover` answers it.
 * @param options Whose signature is expected.
 * @param options.address That address; without it, the manifest's own `payTo`.
 *
 * @example
 * const found = await client.discover('https://agent.example')
 * if (!verifyManifest(found, { address: knownAddress }).ok) throw new Error('not the agent I know')
 */
export function verifyManifest(
  manifest: Manifest,
  { address = manifest.payTo }: { readonly address?: string } = {},
): ManifestVerdict {
  const { signature } = manifest
  if (signature === undefined) return { ok: false, reason: 'unsigned' }
  const publicKey = isSignature(signature) ? decodeAddress(signature.address) : undefined
  if (publicKey === undefined) return { ok: false, reason: 'malformed' }
  if (signature.address !== address) return { ok: false, reason: 'foreign_signer' }
  const bytes = fromBase64(signature.value)
  return verifySignature(publicKey, signedBytes(manifest), bytes)
    ? { ok: true, address }
    : { ok: false, reason: 'bad_signature' }
}

function signedBytes({ signature: _, ...content }: Manifest): Uint8Array {
  return new TextEncoder().encode(canonicalJson(content))
}

function isSignature(value: unknown): value is ManifestSignature {
  return isRecord(value) && value.alg === 'ed25519' && typeof value.value === 'string'
}
