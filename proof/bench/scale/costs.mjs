/**
 * What one paid call costs, by `npm run bench -- --row redis-paid` on 2 × AMD EPYC, whose two cores it shared with Redis, the
 * facilitator and the load: a machine of its own takes less.
 */
export const COSTS = {
  processUs: 650,
  redisUs: 125,
  /** One way and back, in one data centre. */
  redisTripMs: 0.5,
  verifyMs: 50,
  handlerMs: 50,
  payers: 20_000,
}
