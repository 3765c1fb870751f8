/** Why a stranger's URL was not read. */
export type RefusedReason =
  /** No http(s) URL, or one with credentials. */
  | 'url'
  | 'port'
  /** It leads to an address that is not public. */
  | 'address'
  | 'redirects'
  | 'size'
  | 'time'
  /** Nothing answered, or not in HTTP. */
  | 'silence'

export class Refused extends Error {
  constructor(
    readonly reason: RefusedReason,
    message: string,
  ) {
    super(message)
  }
}
