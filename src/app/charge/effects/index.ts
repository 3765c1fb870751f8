/** The charge machine's effects, by the names that the drawing gives them. */
import type { ChargeDrawing } from '../../../domain/machines/charge.machine.js'
import type { Effects } from '../../../domain/state-machine/run-machine.js'
import type { Call } from '../call-record.js'
import type { ChargeDeps } from '../charge-deps.js'
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

export function chargeEffects(deps: ChargeDeps): Effects<ChargeDrawing, Call> {
  return {
    admit: call => admit(deps, call),
    open: call => open(deps, call),
    recover: call => recover(deps, call),
    validate: call => validate(deps, call),
    entitle: call => entitle(deps, call),
    price: call => price(deps, call),
    verify: call => verify(deps, call),
    credit: call => credit(deps, call),
    deliver: call => deliver(deps, call),
    record: call => record(deps, call),
    settle: call => settle(deps, call),
    reconcile: call => reconcile(deps, call),
    release: call => release(deps, call),
    serve: call => serve(deps, call),
  }
}
