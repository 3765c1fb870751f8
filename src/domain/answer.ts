/** What a handler delivered, rendered to bytes: it can be stored, replayed and sent, and no longer fail. */
export interface Answer {
  readonly status: number
  /** Lower-case names; among them `content-type` where there is a body. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}
