/** How x402's software marks its transactions. Anybody can write these notes: they are a sign, never a proof. */
export const PAYMENT_NOTE_PREFIX = 'x402-payment-v'
export const SPONSOR_NOTE_PREFIX = 'x402-fee-payer-'
