/** The documents that describe an agent, with the URLs by which each caller reaches it. Each base URL has them rendered once. */
import { LRUCache } from 'lru-cache'
import { landingPage } from '../../adapters/http/landing-and-quote-pages.js'
import type { AgentDef } from '../../domain/agent.js'
import type { EndpointDef } from '../../domain/endpoint.js'
import { type Manifest, manifest, manifestX402, priceShown } from '../../domain/manifest.js'
import { networkFacts } from '../../domain/network-definition.js'
import { openapi } from '../../domain/openapi-document.js'
import { methodsOf, pathOfEndpoint } from '../../domain/path-pattern.js'
import { windowShown } from '../../domain/period.js'
import type { QuoteExtra } from '../../domain/quote-fields.js'
import { X402_VERSION } from '../../domain/x402.js'
import type { Clock } from '../../ports/clock.js'
import { type ManifestSigner, signedManifest } from '../manifest-signature.js'
import type { Settings } from './options/server-settings.js'

/** More origins than a real deployment has. Forged Host headers cannot grow a cache beyond it, nor beyond a length. */
const ORIGINS_MAX = 64
const TEXT_LENGTH_MAX = 8_388_608

/** JSON texts, and a page, by the origin of the request. */
export function documentsOf(
  { agent, network, basePath, doors, signManifest: signer, logger }: Settings,
  facilitatorUrl: string,
  clock: Pick<Clock, 'after'>,
) {
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
    async manifest(origin: string): Promise<string> {
      if (origin !== signer?.origin) return unsigned(origin)
      signing ??= signed(signer)
      return signing
    },
    openapi: perOrigin(origin => JSON.stringify(openapi(agent, origin + basePath))),
    resourceList: perOrigin(origin => JSON.stringify(resourceList(agent, origin + basePath))),
    /** HTML; its links are under `prefix`, which is empty or the base path. */
    landingPage: (origin: string, prefix: string) => landingPages.get(prefix)!(origin),
    /** Renders all of them anew: the agent has another endpoint. */
    forget(): void {
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
    memoMethod: write,
  })
  caches.push(written)
  return origin => written.memo(origin)
}

/** The listed endpoints of an agent, reached under `baseUrl`, which has no trailing slash. */
export function resourceList(agent: AgentDef, baseUrl: string) {
  const { name, description, payTo } = agent
  const { wholeHashId, usdcId } = networkFacts(agent.network)
  // Indexes of Algorand list and compare the 44-character id.
  const terms = { network: wholeHashId, asset: usdcId }
  const resources = agent.endpoints
    .filter(def => def.listed)
    .flatMap(def => methodsOf(def).map(method => ({ def, method })))
    .map(({ def, method }) => ({
      url: baseUrl + pathOfEndpoint(def),
      method,
      description: described(def),
      ...terms,
      // Of a fixed price or of a window, in base units.
      ...(def.amount !== undefined && { amount: def.amount }),
      payTo,
      ...extraOf(agent, def),
    }))
  return { x402Version: X402_VERSION, name, description, resources }
}

/** As a quote has them: the endpoint's win. */
function extraOf(agent: AgentDef, def: EndpointDef): { readonly extra?: QuoteExtra } {
  const extra = { ...agent.extra, ...def.extra }
  return Object.keys(extra).length > 0 ? { extra } : {}
}

/** The amount alone would look like the price of one call, and without one there would be no price. So the description says it. */
function described(def: EndpointDef): string {
  const { price, pricing, period, calls } = priceShown(def)
  if (pricing === 'fixed') return def.description
  const said = `Price: ${price}${windowShown({ period, calls })}.`
  return def.description === '' ? said : `${def.description} ${said}`
}
