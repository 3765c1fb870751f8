/**
 * Health is true for a moment only. And documents name the host that they were asked at, which may be a forwarded one: a
 * shared cache that kept one would serve one caller's word to all others.
 */
export const UNCACHED = Object.freeze(['Cache-Control', 'no-store'])
