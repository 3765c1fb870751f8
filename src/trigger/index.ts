/** Cases that are played against an agent on a sandbox, with play money, and what must hold then: for `svc trigger`. */
export { CASE_NAMES, CASES, type CaseName } from './cases.js'
export type { Played } from './play.js'

/** What plays them, loaded when it is needed: lists of cases need no keys. */
export const loadPlayer = () => import('./play.js')
