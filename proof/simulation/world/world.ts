/** One episode's world: its time, its chain, its facilitator, its seller, and what really happened. */

import type { Cancel, Logger } from '../../../src/index.js'
import {
  type Credit,
  createLedger,
  createRounds,
  decodeAnswerHeader,
  decodeMember,
  type Ledger,
  type SignedPayment,
  TESTNET,
} from '../../../src/simulation-parts.js'
import { type Conditions, calm, mayForgetCalls } from '../conditions.js'
import { checkReply } from '../invariants/answers.js'
import { Questions } from '../invariants/questions.js'
import type { Dice } from '../kernel/dice.js'
import { Fate } from '../kernel/fate.js'
import { ConnectionLost, Network } from '../kernel/network.js'
import { Process } from '../kernel/process.js'
import { Timeline } from '../kernel/timeline.js'
import { keyOf } from './accounts.js'
import { ENDPOINTS, type EndpointName, originOf, type Purchase, SISTER, type Work } from './agents.js'
import { Facilitator } from './facilitator.js'
import { Journals } from './journals.js'
import { prefixOf } from './mounts.js'
import { Node } from './node.js'
import { Origin } from './origin.js'
import { runningTheProgram } from './programs.js'
import { Seller } from './seller.js'
import { Truth } from './truth.js'
import { HangUp, type WireReply, type WireRequest } from './wire.js'

const ROUND_MS = 2_800
const FIRST_ROUND = 40_000_000n
/** Where money moves, more goes wrong: it is what has to be right. */
const SETTLING_WEIGHT = 4
const STANDSTILL_MIN_MS = 500
const STANDSTILL_MAX_MS = 60_000
/** A lease is 15 s. */
const AMBUSH_MIN_MS = 16_000
const AMBUSH_MAX_MS = 40_000
const HANG_UP_MIN_MS = 5
const HANG_UP_MAX_MS = 40_000
/** A store forgets so soon after a question to settle, at the most. */
const FORGETS_WITHIN_MS = 20_000
/** Within so long a question has left. */
const SENT_MS = 1
/** How long anybody waits for an answer. */
const PATIENCE_MS = 400_000

/** The asset and the fees that everybody has enough of, unless an act says otherwise. */
const PLENTY = { microAlgos: 1_000_000_000n, usdc: 1_000_000_000n }

type Moment = 'settle' | 'sale' | 'count'

export interface WorldOptions {
  readonly seed: string
  readonly conditions: Conditions
  /** The only faults that happen. */
  readonly faults?: ReadonlySet<string>
  /** Told of everything, a line each. */
  readonly onLine?: (line: string) => void
}

export class World {
  readonly seed: string
  readonly timeline = new Timeline()
  readonly fate: Fate
  readonly network: Network
  readonly truth: Truth
  readonly ledger: Ledger
  readonly facilitator: Facilitator
  readonly backup: Facilitator
  readonly questions: Questions
  readonly node: Node
  readonly origin: Origin
  readonly journals: Journals
  readonly seller: Seller
  readonly logger: Logger
  conditions: Conditions
  readonly mayForgetCalls: boolean
  /** Acts that have begun and not ended. */
  acting = 0
  /** Pairs of features that met in a call. */
  readonly met: string[] = []
  #wanted: { readonly moment: Moment; readonly dice: Dice; readonly payment: string | undefined } | undefined
  readonly #later: (() => void)[] = []
  readonly #onLine: ((line: string) => void) | undefined
  readonly #mortals = new Set<Process>()
  /** Ends each request that is under way. */
  readonly #requests = new Set<() => void>()

  constructor({ seed, conditions, faults, onLine }: WorldOptions) {
    this.seed = seed
    this.conditions = conditions
    this.mayForgetCalls = mayForgetCalls(conditions)
    this.#onLine = onLine
    this.fate = new Fate(seed, faults)
    this.network = new Network(this.timeline, this.fate)
    this.truth = new Truth(
      () => this.timeline.nowMs,
      this.trace,
      (asking, reply) => checkReply(this, asking, reply),
      call => this.questions.ended(call),
    )
    const { clock } = new Process('chain', this.timeline)
    const ledger = createLedger({
      network: TESTNET,
      rounds: createRounds({ roundMs: ROUND_MS, clock, first: FIRST_ROUND }),
      feeSink: keyOf('fee sink').address,
      nowMs: clock.now,
    })
    this.ledger = runningTheProgram(ledger)
    this.ledger.credit(keyOf('fee sink').address, { microAlgos: 1_000_000n })
    for (const sponsor of ['sponsor', 'backup sponsor']) this.ledger.credit(keyOf(sponsor).address, PLENTY)
    this.ledger.credit(keyOf('seller').address, { microAlgos: 1_000_000n, optIn: true })
    this.logger = onLine ? this.#tracingLogger() : { debug() {}, info() {}, warn() {}, error() {} }
    this.questions = new Questions(this)
    this.facilitator = new Facilitator(this, { name: 'facilitator', sponsor: 'sponsor', isHostile: false })
    const isHostile = conditions.backup === 'hostile'
    this.backup = new Facilitator(this, { name: 'backup', sponsor: 'backup sponsor', isHostile })
    this.node = new Node(this)
    this.origin = new Origin(this)
    this.journals = new Journals(this)
    this.seller = new Seller(this)
  }

  readonly trace = (line: string): void => {
    this.#onLine?.(`${this.timeline.nowMs} ${line}`)
  }

  fund(name: string, credit: Credit = PLENTY): void {
    this.ledger.credit(keyOf(name).address, credit)
  }

  /** The payer submits its payment itself; it lands, or it does not. */
  landByPayer({ payload, txId }: SignedPayment): void {
    const { paymentGroup } = payload.payload as { paymentGroup: readonly string[] }
    const group = paymentGroup.map(text => decodeMember(Buffer.from(text, 'base64'))?.signed)
    if (!group.every(member => member !== undefined)) return
    if (this.ledger.submit(group) !== undefined) return
    this.truth.byPayer.add(txId)
    this.trace(`payer lands ${txId.slice(0, 6)}`)
  }

  /** A process that dies and stands still as the conditions say. */
  mortal(process: Process): void {
    this.#mortals.add(process)
    process.onDeath(() => {
      this.#mortals.delete(process)
      this.truth.deaths++
      this.trace(`${process.name} is dead`)
    })
  }

  /** A moment at which a process asks or hears somebody, of whatever payment: it may die here, or stand still. */
  point(process: Process, place: string, payment?: string): void {
    if (!this.#mortals.has(process)) return
    const { death, standstill } = this.conditions
    const { fate, timeline } = this
    const name = fate.numbered(`${place}.at`)
    const isSettling = place.endsWith('/settle')
    const isCounting = place.endsWith('svcCount')
    const isRecording = place.endsWith('svcRecord')
    const weight = isSettling || isCounting || isRecording ? SETTLING_WEIGHT : 1
    const wanted = isRecording && this.isWanted('sale', payment)
    if (wanted) return void this.abandon(process, wanted)
    const ambushed =
      (isSettling || isCounting) && fate.strike(`${name}.ambush`, this.conditions.ambush, timeline.nowMs)
    if (ambushed) return void this.#ambush(process, ambushed)
    const forgets = isSettling && fate.strike(`${name}.forgets`, this.conditions.losses, timeline.nowMs)
    if (forgets) timeline.after(forgets.span(SENT_MS, FORGETS_WITHIN_MS), () => this.seller.forget(forgets))
    if (isSettling && this.isWanted('settle')) return void timeline.after(SENT_MS, () => process.die())
    if (fate.strike(`${name}.death`, death * weight, timeline.nowMs)) return void process.die()
    const still = fate.strike(`${name}.still`, standstill * weight, timeline.nowMs)
    if (!still) return
    const ms = still.span(STANDSTILL_MIN_MS, STANDSTILL_MAX_MS)
    this.trace(`${process.name} stands still for ${ms} ms`)
    process.standStill(ms)
  }

  /**
   * A process stands still for longer than a lease while it settles, its callers lose their connections, and the
   * facilitator refuses: what each of these does alone is seen often enough, and all of them together hardly ever.
   */
  #ambush(process: Process, dice: Dice): void {
    this.facilitator.refusesNext = true
    this.abandon(process, dice)
  }

  /**
   * An act of this name wants the next process that settles to die there, the one that records its payment to stand still, or the next that
   * counts a call.
   */
  want(moment: Moment, name: string, payment?: string): void {
    const dice = this.fate.strike(name, 1, this.timeline.nowMs)
    if (dice) this.#wanted = { moment, dice, payment }
  }

  /** The dice of the act that wants so, once. */
  isWanted(moment: Moment, payment?: string): Dice | undefined {
    const wanted = this.#wanted
    if (wanted?.moment !== moment || wanted.payment !== payment || this.fate.isOver) return undefined
    this.#wanted = undefined
    return wanted.dice
  }

  /** It stands still for longer than a lease, and all callers lose their connections. */
  abandon(process: Process, dice: Dice): void {
    this.trace(`${process.name} is abandoned`)
    process.standStill(dice.span(AMBUSH_MIN_MS, AMBUSH_MAX_MS))
    for (const hangUp of this.#requests) hangUp()
  }

  /** As buyers call it. */
  urlOf(endpoint: EndpointName): string {
    return `${originOf(endpoint)}${prefixOf(this.conditions.mount)}/${endpoint.replace('sister/', '')}`
  }

  /** Looked at when all payments have landed or can land no more. */
  checkLater(check: () => void): void {
    this.#later.push(check)
  }

  checkNow(): void {
    for (const check of this.#later) check()
  }

  /** No more trouble; what is broken is started again. */
  heal(): void {
    this.fate.isOver = true
    this.conditions = calm(this.conditions)
    this.facilitator.refusesNext = false
  }

  /** One request over HTTP, and what came back. @throws ConnectionLost */
  async http(
    from: Process,
    act: string,
    request: WireRequest,
    {
      hangUp = new HangUp(),
      patienceMs = PATIENCE_MS,
    }: { readonly hangUp?: HangUp; readonly patienceMs?: number | undefined } = {},
  ): Promise<WireReply> {
    const { fate, timeline, conditions } = this
    const asking = this.truth.asked(askingOf(request, act))
    const name = fate.numbered(`${act}.http`)
    const strike = fate.strike(`${name}.hangUp`, conditions.hangUp, timeline.nowMs)
    const asked = this.seller.request(from, act, request, hangUp)
    let giveUp: Cancel | undefined
    let over: (() => void) | undefined
    const hung = new Promise<never>((_, reject) => {
      const end = () => {
        if (hangUp.isGone) return
        hangUp.now()
        from.deliver(() => reject(new ConnectionLost('hung up')))
      }
      if (strike) timeline.after(strike.span(HANG_UP_MIN_MS, HANG_UP_MAX_MS), end)
      giveUp = from.clock.after(patienceMs, end)
      over = () => this.#requests.delete(end)
      this.#requests.add(end)
    })
    try {
      const told = await Promise.race([asked, hung])
      const reply = request.read?.(told) ?? told
      this.truth.heard(asking, reply)
      return reply
    } catch (error) {
      this.truth.heard(asking, undefined, hangUp.isGone)
      throw error
    } finally {
      giveUp?.()
      over?.()
    }
  }

  #tracingLogger(): Logger {
    const say = (level: string) => (fields: object, message?: string) =>
      this.#onLine?.(`${this.timeline.nowMs}   ${level} ${message} ${causeIn(fields)}`)
    return { debug: say('debug'), info: () => {}, warn: say('warn'), error: say('error') }
  }
}

function causeIn(fields: object): string {
  const { err, cause } = fields as { err?: Error; cause?: unknown }
  // Without the stack, which differs from one caller to the next.
  return String(err ?? cause ?? '')
}

/** What a request asks for, through whichever door. */
export function askingOf(request: WireRequest, act: string): Parameters<Truth['asked']>[0] {
  const { target, host, headers, body, address, asks } = request
  const path = target.slice(1).split('?')[0] as EndpointName
  const name = asks?.endpoint ?? (ENDPOINTS.includes(path) ? path : (skillIn(body) ?? path))
  const header = asks ? asks.header : headers['payment-signature']
  const isSister = asks === undefined && host === new URL(SISTER).host
  return {
    endpoint: isSister ? (`sister/${name}` as EndpointName) : name,
    act,
    body: asks?.body ?? inputIn(path, body) ?? '',
    key: (asks ? asks.key : headers['idempotency-key']) ?? identifierOf(header),
    window: asks ? asks.window : headers['x-svc-subscription'],
    balance: asks ? asks.balance : headers['x-svc-balance-key'],
    maxCharge: asks ? asks.maxCharge : headers['x-svc-max-charge'],
    header,
    request,
    address,
  }
}

/** The other place for a key. It stands around the signed transaction, so that the chain shows it as little as a header. */
function identifierOf(header: string | undefined): string | undefined {
  const { extensions } = (decodeAnswerHeader(header ?? '') ?? {}) as Partial<Identified>
  const id = extensions?.['payment-identifier']?.info?.id
  return id !== undefined && IDENTIFIER.test(id) ? id : undefined
}

interface Identified {
  readonly extensions: { readonly 'payment-identifier'?: { readonly info?: { readonly id?: string } } }
}

/** What the extension's schema allows. */
const IDENTIFIER = /^[\w-]{16,128}$/

function skillIn(body: string | undefined): EndpointName | undefined {
  return body && JSON.parse(body).params?.message?.metadata?.skillId
}

/** The input, however it is wrapped. */
function inputIn(path: string, body: string | undefined): string | undefined {
  return path === 'a2a' && body ? JSON.stringify(JSON.parse(body).params.message.parts[0].data) : body
}

export function workRequest(
  endpoint: EndpointName,
  work: Work | Purchase,
  headers: Readonly<Record<string, string>>,
  address: string,
): WireRequest {
  const isSister = endpoint.startsWith('sister/')
  return {
    method: 'POST',
    target: `/${isSister ? endpoint.slice('sister/'.length) : endpoint}`,
    host: new URL(originOf(endpoint)).host,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(work),
    address,
  }
}
