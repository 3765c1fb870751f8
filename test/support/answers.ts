/** The fields that tests read from the sandbox's JSON answers; a missing one is `undefined`, and the test will say so. */
export interface Answer {
  readonly isValid: unknown
  readonly invalidReason: string
  readonly invalidMessage: string
  readonly success: unknown
  readonly transaction: string
  readonly payer: string
  readonly errorReason: string
  readonly errorMessage: string
  readonly kinds: readonly { readonly extra: { readonly feePayer: string } }[]
  readonly items: readonly object[]
  readonly faults: readonly object[]
  readonly blockTxids: readonly string[]
  readonly message: string
  readonly error: { readonly code: string }
}

export async function answerOf(response: Response | Promise<Response>): Promise<Answer> {
  return (await (await response).json()) as Answer
}
