/** What clients are told to spend, a call and a day, where a seller wants more. */
export const CAPS = { maxPrice: '$0.05', maxPerDay: '$0.20' } as const
