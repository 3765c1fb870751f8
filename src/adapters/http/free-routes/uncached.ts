/**
 * Health is valid only for a moment. Documents contain the host of their request, which may be a forwarded one: a
 * shared cache would send one caller's host to all others.
 */
export const UNCACHED = Object.freeze(['Cache-Control', 'no-store'])
