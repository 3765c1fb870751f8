/** Thrown where the work could not be done, and asking again later may help. The caller is not charged. */
export class OutOfReach extends Error {
  readonly status = 503
  readonly code = 'out_of_reach'
}
