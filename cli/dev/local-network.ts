/** Play money beside the agent: a sandbox, or AlgoKit LocalNet. */
import { type Network, type NetworkDefinition, SvcError } from '../../src/domain/index.js'
import { exportsOf, LOCALNET_FILE } from '../commands/localnet.js'
import { startUsualSandbox } from '../commands/sandbox.js'
import { networkOfFlags } from '../networks.js'
import { note, printable, STDERR_LOGGER } from '../output.js'

export interface LocalNetwork {
  readonly network: Network
  /** What the agent gets; it is without what is `undefined`. */
  readonly environment: NodeJS.ProcessEnv
  readonly exports: readonly string[]
  readonly told: object
  close(): Promise<void>
}

export async function startSandboxNetwork(): Promise<LocalNetwork> {
  const sandbox = await startUsualSandbox({})
  const { url, wallet, seller } = sandbox
  const payTo = process.env.SVC_PAY_TO || seller.address
  try {
    // The developer's own address is not opted in to USDC in this sandbox, so a payment to it would be refused.
    if (payTo !== seller.address) sandbox.fund(payTo, { optIn: true })
  } catch (error) {
    await sandbox.close()
    throw error
  }
  return {
    network: 'testnet',
    environment: { SVC_SANDBOX: url, SVC_NETWORK: 'testnet', SVC_PAY_TO: payTo },
    exports: [`  export SVC_SANDBOX=${url}`, `  export SVC_MNEMONIC='${wallet.mnemonic}'`],
    told: { sandbox: url, wallet },
    close: sandbox.close,
  }
}

export async function startLocalnetNetwork(): Promise<LocalNetwork> {
  const { localnetSettings, startLocalnet } = await import('../../src/localnet/index.js')
  const settings = localnetSettings()
  const localnet = await startLocalnet({ settings, out: LOCALNET_FILE, logger: STDERR_LOGGER })
  const { definition, file, buyer, seller } = localnet
  try {
    return {
      network: definition,
      environment: {
        ...{ SVC_SANDBOX: undefined, SVC_NETWORK: file },
        SVC_PAY_TO: await payToOn(definition, seller.address),
      },
      exports: exportsOf(localnet),
      told: { localnet: file, wallet: buyer },
      close: localnet.close,
    }
  } catch (error) {
    await localnet.close()
    throw error
  }
}

/** The developer's own address, where it can be paid there; else LocalNet's seller. */
async function payToOn(definition: NetworkDefinition, seller: string): Promise<string> {
  const own = process.env.SVC_PAY_TO || seller
  if (own === seller) return seller
  const { holdingsOf, isValidAddress } = await import('../../src/wallet/index.js')
  if (!isValidAddress(own)) throw new SvcError('SVC_PAY_TO is no Algorand address', 'invalid_address')
  const { algodUrl, algodToken } = definition
  const node = { url: algodUrl!, token: algodToken }
  const { usdc } = await holdingsOf(networkOfFlags({ network: definition }), own, node)
  if (usdc !== undefined) return own
  note(`svc dev: ${printable(own)} is not opted in to LocalNet's USDC: paying LocalNet's seller instead`)
  return seller
}
