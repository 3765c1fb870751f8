/** A node's REST interface, with a node's own words. What it does not emulate is answered with 501. */
import type { Ledger } from '../ledger.js'
import { json, type Route } from '../serve-http.js'
import { account, application, asset, holding, noApplication } from './account-routes.js'
import { block, hash, txids } from './block-routes.js'
import { unemulated } from './replies.js'
import { simulate } from './simulate-route.js'
import { genesis, metrics, params, status, statusAfter, supply, versions } from './status-routes.js'
import { pending, pool, poolOf, submit } from './transaction-routes.js'

/** Paths of a node that the sandbox has no answer for. */
const UNEMULATED: readonly RegExp[] = [
  /^\/swagger\.json$/,
  /^\/v2\/teal\/(compile|disassemble|dryrun)$/,
  /^\/v2\/blocks\/[^/]+\/(lightheader\/proof|logs|transactions\/[^/]+\/proof)$/,
  /^\/v2\/stateproofs\/[^/]+$/,
  /^\/v2\/deltas\/.+$/,
  /^\/v2\/(participation|ledger\/sync|devmode|experimental|catchup)(\/.*)?$/,
  /^\/v2\/transactions\/async$/,
  /^\/debug\/.+$/,
]

export function algodRoutes(ledger: Ledger): Route[] {
  const get = (path: RegExp, handle: Route['handle']) => node('GET', path, handle)
  const post = (path: RegExp, handle: Route['handle']) => node('POST', path, handle)
  return [
    get(/^\/v2\/transactions\/params$/, () => params(ledger)),
    post(/^\/v2\/transactions\/simulate$/, request => simulate(ledger, request)),
    post(/^\/v2\/transactions$/, request => submit(ledger, request)),
    get(/^\/v2\/transactions\/pending$/, request => pool(ledger, request)),
    get(/^\/v2\/transactions\/pending\/([^/]+)$/, request => pending(ledger, request)),
    get(/^\/v2\/status$/, () => status(ledger)),
    get(/^\/v2\/status\/wait-for-block-after\/([^/]+)$/, request => statusAfter(ledger, request)),
    get(/^\/v2\/blocks\/([^/]+)$/, request => block(ledger, request)),
    get(/^\/v2\/blocks\/([^/]+)\/txids$/, request => txids(ledger, request)),
    get(/^\/v2\/blocks\/([^/]+)\/hash$/, request => hash(ledger, request)),
    get(/^\/v2\/accounts\/([^/]+)$/, request => account(ledger, request)),
    get(/^\/v2\/accounts\/([^/]+)\/assets\/([^/]+)$/, request => holding(ledger, request)),
    get(/^\/v2\/accounts\/([^/]+)\/applications\/([^/]+)$/, application),
    get(/^\/v2\/accounts\/([^/]+)\/transactions\/pending$/, request => poolOf(ledger, request)),
    // The registry's contracts answer for numbers.
    get(/^\/v2\/applications\/(?!\d{1,15}$)([^/]+)$/, noApplication),
    get(/^\/v2\/assets\/([^/]+)$/, request => asset(ledger, request)),
    get(/^\/v2\/ledger\/supply$/, () => supply(ledger)),
    get(/^\/(health|ready)$/, () => json(200, null)),
    get(/^\/versions$/, () => versions(ledger)),
    get(/^\/genesis$/, () => genesis(ledger)),
    get(/^\/metrics$/, () => metrics(ledger)),
    ...UNEMULATED.flatMap(path =>
      ['GET', 'POST', 'PUT', 'DELETE'].map(method =>
        node(method, path, () => {
          throw unemulated('this')
        }),
      ),
    ),
  ]
}

function node(method: string, path: RegExp, handle: Route['handle']): Route {
  return { method, path, handle, ofNode: true }
}
