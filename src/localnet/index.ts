/** AlgoKit LocalNet, or another private node, made ready to sell and to pay on: for `svc localnet` and `svc dev --localnet`. */
export { type LocalnetFlags, localnetSettings } from './settings.js'
export { type Localnet, startLocalnet } from './start-localnet.js'
