/** A network that is not one of the public ones. Its id has both characters that URL-safe base64 writes otherwise. */
import type { NetworkDefinition } from '../../src/domain/network.js'

export const LOCALNET: NetworkDefinition = {
  name: 'localnet',
  genesisId: 'dockernet-v1',
  genesisHash: 'kUt08LxeVAAG+nh4JoAoAMM9/l/hBwSoiFtlnKNeOxA=',
  usdc: 1002,
}
