/** The charge machine's effects, by the names that the drawing gives them. */
import type { ChargeDrawing } from '../../../domain/machines/charge.machine.js'
import type { Effects } from '../../../domain/run.js'
import type { Call } from '../call.js'
import type { ChargeDeps } from '../world.js'
import { admit } from './admit.js'
import { credit } from './credit.js'
import { deliver, serve } from './deliver.js'
import { entitle } from './entitle.js'
import { open } from './open.js'
import { price } from './price.js'
import { reconcile } from './reconcile.js'
import { record } from './record.js'
import { recover } from './recover.js'
import { release } from './release.js'
import { settle } from './settle.js'
import { validate } from './validate.js'
import { verify } from './verify.js'

export function chargeEffects(world: ChargeDeps): Effects<ChargeDrawing, Call> {
  return {
    admit: call => admit(world, call),
    open: call => open(world, call),
    recover: call => recover(world, call),
    validate: call => validate(world, call),
    entitle: call => entitle(world, call),
    price: call => price(world, call),
    verify: call => verify(world, call),
    credit: call => credit(world, call),
    deliver: call => deliver(world, call),
    record: call => record(world, call),
    settle: call => settle(world, call),
    reconcile: call => reconcile(world, call),
    release: call => release(world, call),
    serve: call => serve(world, call),
  }
}
