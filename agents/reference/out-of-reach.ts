import { SvcError } from '../../src/domain/errors.js'

/** Thrown where the work could not be done, and asking again later may help. The caller is not charged. */
export class OutOfReach extends SvcError {
  constructor(message: string) {
    super(message, 'out_of_reach', 503)
  }
}
