import type { NetworkFacts } from './network.js'

export interface NodeUrls {
  readonly algodUrl: string | undefined
  readonly algodToken: string | undefined
  readonly indexerUrl: string | undefined
}

/** Which node and which indexer are asked: what the options say, then a sandbox, then what the network itself says. */
export function nodeUrls(
  network: NetworkFacts,
  options: { readonly [Key in keyof NodeUrls]?: string | undefined },
  sandbox: string | undefined,
): NodeUrls {
  const replaced = options.algodUrl ?? sandbox
  // A public indexer is only a default beside the public node. The user chose the indexer of a definition, so it is used with any
  // node but a sandbox.
  const isPublic = typeof network.given === 'string'
  const passedOver = isPublic ? replaced !== undefined : replaced !== options.algodUrl
  return {
    algodUrl: replaced ?? network.algodUrl,
    // A definition's token is for its own node.
    algodToken: options.algodToken ?? (replaced === undefined ? network.algodToken : undefined),
    indexerUrl: options.indexerUrl ?? (passedOver ? undefined : network.indexerUrl),
  }
}
