/** What clients are told to spend, a call and a day, where a seller wants more. */
export const CAPS = { maxPrice: '$0.05', maxPerDay: '$0.20' } as const

/** The same in base units. */
export const CAPS_BASE_UNITS = { maxPrice: 50_000n, maxPerDay: 200_000n } as const

/** A key with fewer characters can be guessed, as the documents say. */
export const RANDOM_KEY_LENGTH_MIN = 32
