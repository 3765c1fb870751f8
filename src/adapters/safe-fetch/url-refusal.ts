/** Why a stranger's URL was not read. */
export type RefusedReason =
  /** It is no http(s) URL, or it has credentials. */
  | 'url'
  | 'port'
  /** It leads to an address that is not public. */
  | 'address'
  | 'redirects'
  | 'size'
  | 'time'
  /** No server answered, or it did not answer in HTTP. */
  | 'silence'

export class Refused extends Error {
  constructor(
    readonly reason: RefusedReason,
    message: string,
  ) {
    super(message)
  }
}
