/** What a test needs of a simulation with a bug in it. */
export { episode } from '../episode.js'
export { smallest } from '../shrink.js'
