import { randomBytes } from 'node:crypto'

/** The trace of the calls by which `svc dev` learns what is sold: they are none of the developer's. */
export const OFFER_TRACE_ID = randomBytes(16).toString('hex')
export const OFFER_TRACEPARENT = `00-${OFFER_TRACE_ID}-${randomBytes(8).toString('hex')}-00`
