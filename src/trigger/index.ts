/** Plays cases against an agent on a sandbox, with play money, and says whether the rules held: for `svc trigger`. */
export { type Played, play } from './play.js'
export { sandboxControl } from './sandbox-control.js'
