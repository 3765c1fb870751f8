/**
 * The documents that describe an agent, with the URLs by which each caller reaches it. They are rendered once for
 * each base URL.
 */
import { LRUCache } from 'lru-cache'
import { landingPage } from '../../adapters/http/html-pages.js'
import { type Manifest, manifest, manifestX402 } from '../../domain/manifest.js'
import { openapi } from '../../domain/openapi.js'
import { resourceList } from '../../domain/well-known-resources.js'
import type { Clock } from '../../ports/clock.js'
import { type ManifestSigner, signedManifest } from '../manifest-signature.js'
import type { Settings } from './settings-from-options.js'

/** JSON texts, and a page, by the origin of the request. */
export interface Documents {
  manifest(origin: string): Promise<string>
  openapi(origin: string): string
  resourceList(origin: string): string
  /** HTML; its links are under `prefix`, which is empty or the base path. */
  landingPage(origin: string, prefix: string): string
  /** Renders all of them anew: the agent has another endpoint. */
  forget(): void
}

/** More origins than a real deployment has. Forged Host headers cannot grow a cache beyond it, nor beyond a length. */
const ORIGINS_MAX = 64
const TEXT_LENGTH_MAX = 8_388_608

export function documentsOf(
  { agent, network, basePath, doors, signManifest: signer, logger }: Settings,
  facilitatorUrl: string,
  clock: Pick<Clock, 'after'>,
): Documents {
  const x402 = manifestX402(network, facilitatorUrl)
  const manifestAt = (origin: string): Manifest => ({ ...manifest(agent, origin + basePath), x402 })
  const caches: LRUCache<string, string>[] = []
  const perOrigin = (write: (origin: string) => string) => keptPerOrigin(write, caches)
  const unsigned = perOrigin(origin => JSON.stringify(manifestAt(origin)))
  const shown = { image: agent.iconUrl ?? agent.merchant?.logo, hasCard: doors.a2a }
  const landingPages = new Map(
    ['', basePath].map(prefix => [
      prefix,
      perOrigin(origin => landingPage(manifestAt(origin), origin + prefix, shown)),
    ]),
  )
  let signing: Promise<string> | undefined

  /** If the signer fails, the next request asks it again. Until then the manifest has no signature. */
  async function signed(by: ManifestSigner): Promise<string> {
    try {
      return JSON.stringify(await signedManifest(manifestAt(by.origin), by, clock))
    } catch (err) {
      signing = undefined
      logger.error({ err }, 'the manifest could not be signed, and is served without a signature')
      return unsigned(by.origin)
    }
  }

  return {
    async manifest(origin) {
      if (origin !== signer?.origin) return unsigned(origin)
      signing ??= signed(signer)
      return signing
    },
    openapi: perOrigin(origin => JSON.stringify(openapi(agent, origin + basePath))),
    resourceList: perOrigin(origin => JSON.stringify(resourceList(agent, origin + basePath))),
    landingPage: (origin, prefix) => landingPages.get(prefix)!(origin),
    forget() {
      for (const cache of caches) cache.clear()
      signing = undefined
    },
  }
}

function keptPerOrigin(write: (origin: string) => string, caches: unknown[]): (origin: string) => string {
  const written = new LRUCache<string, string>({
    max: ORIGINS_MAX,
    maxSize: TEXT_LENGTH_MAX,
    sizeCalculation: text => text.length,
  })
  caches.push(written)
  return origin => {
    const known = written.get(origin)
    if (known !== undefined) return known
    const text = write(origin)
    written.set(origin, text)
    return text
  }
}
