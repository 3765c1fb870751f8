import type { Found } from './hunt.js'
import type { Plant } from './plants.mjs'

/** The shortest trace to the rule that a planted fault breaks. */
export function huntFor(plant: Plant): Promise<Found | undefined>
