/** Everything to define, serve and describe an agent. What pays one is passed on from `@svc/sdk/client`. @packageDocumentation */

export type { Timeouts } from './app/charge/charge-deps.js'
export { defineAgent, defineEndpoint } from './app/define-agent.js'
export type { AgentHandler } from './app/server/create-handler.js'
export type { ShutdownReport } from './app/server/drain.js'
export type { HealthCheck } from './app/server/health.js'
export { networkFrom } from './app/server/network-from-environment.js'
export type { AdvancedOptions } from './app/server/options/advanced-options.js'
export type { IdempotencyOptions } from './app/server/options/charge-options.js'
export type { WebhookOptions } from './app/server/options/observer-options.js'
export type { FacilitatorElsewhere, NodeElsewhere } from './app/server/options/remote-options.js'
export type {
  HandlerOptions,
  Ready,
  ServeOptions,
  ServerOptions,
  Stores,
} from './app/server/options/server-options.js'
// Define and serve
export type { SettlementMessage } from './audit/webhook/settlement-webhook.js'
// Call and pay
export * from './client.js'
export type { AgentDef, AgentOptions } from './domain/agent.js'
export type { BodyType } from './domain/body-type.js'
export type { EndpointDef, EndpointOptions } from './domain/endpoint.js'
export type { EndpointLimits, EndpointRateLimit } from './domain/endpoint-limits.js'
export type {
  BodyOf,
  DescribedSchema,
  EndpointSchema,
  EndpointSchemas,
  JSONSchema,
  StandardIssue,
  StandardProperties,
  StandardResult,
  StandardSchema,
  WriteJsonSchema,
} from './domain/endpoint-schemas.js'
export type {
  Handler,
  HandlerContext,
  HandlerLog,
  HandlerPayment,
  PriceContext,
  PriceFunction,
  ReadBody,
} from './domain/handler.js'
// The drawings that run
export {
  type Charged,
  type ChargeFinal,
  type Closing,
  chargeMachine,
  OUTCOMES,
  type Outcome,
  type OutcomeKind,
  type RunCredit,
} from './domain/machines/charge.machine.js'
export { claimMachine } from './domain/machines/claim.machine.js'
export { paymentMachine } from './domain/machines/payment.machine.js'
export { shutdownMachine } from './domain/machines/shutdown.machine.js'
export { subscriptionMachine } from './domain/machines/subscription.machine.js'
export { type Manifest, type ManifestBalance, type ManifestEndpoint, manifest } from './domain/manifest.js'
export type { Method, PathParams } from './domain/path-pattern.js'
export type { Merchant, QuoteExtra } from './domain/quote-fields.js'
export type { Path } from './domain/state-machine/run-machine.js'
export type { Drawing, DrawnMachine, DrawnState } from './domain/state-machine/transition-table.js'
export type { BalanceTerms, Subscription } from './domain/window-and-balance-terms.js'
export type { ExpressRequest, FastifyRequest, Gate, GateTerms } from './gate/gate-types.js'
export type { CallObserver, EndedCall, LoggedEntry, Runs, UnitsOfCall } from './ports/call-observer.js'
// Ports, for those who bring their own stores
export type {
  ChargeStore,
  Closed,
  CloseMove,
  CountMove,
  Hold,
  Opened,
  OpenMove,
  Recorded,
  RecordedPayment,
  RecordMove,
  Resolved,
  ResolveMove,
  SellMove,
  UnitsChargeStore,
  UnitsCounted,
  UnitsTaken,
} from './ports/charge-store.js'
export type { Cancel, Clock } from './ports/clock.js'
export type { Counted, Counters, CounterTerms } from './ports/counters.js'
export type { Logger } from './ports/logger.js'
export type {
  CountingSubscriptionStore,
  SubscriptionRecord,
  SubscriptionStore,
  TakeMove,
  Taken,
} from './ports/subscriptions.js'
export type { EndTask, NewTask, StoredTask, TakenTask, TakeTask, TaskStore } from './ports/tasks.js'
export {
  createGate,
  createHandler,
  createServer,
  type GateDefinition,
  type GateOptions,
  type SvcServer,
  serve,
} from './serve.js'
