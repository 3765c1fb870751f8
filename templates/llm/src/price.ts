/** What a completion costs at most, by the tokens that are asked for: that is known before the work, and the same twice. */

export const TOKENS_DEFAULT = 256
export const TOKENS_MAX = 4_096
/** Read by the model too, and paid for by you: the price of a token has to carry it. */
export const PROMPT_CHARS_MAX = 8_000

const TOKEN_MICRO_USD = 20
const CALL_MICRO_USD = 1_000

export const PRICE_HINT = '$0.001 and $0.00002 per token'

export function priceOf(tokens: number = TOKENS_DEFAULT): string {
  const microUsd = CALL_MICRO_USD + tokens * TOKEN_MICRO_USD
  return `$${(microUsd / 1_000_000).toFixed(6)}`
}

/** About four characters each. Your model can say it exactly. */
export const tokensIn = (text: string): number => Math.ceil(text.length / 4)
