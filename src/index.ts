/** The server's door: everything to define, serve and describe an agent, and the client that pays one. */

// Define and serve
export type { SettlementMessage } from './adapters/webhook/settlement-message.js'
export type { WebhookOptions } from './adapters/webhook/settlement-webhook.js'
export type { HealthCheck } from './app/checks.js'
export { defineAgent, defineEndpoint } from './app/define.js'
export type { ShutdownReport } from './app/drain.js'
export type { IdempotencyOptions, Ready, ServeOptions, ServerOptions, Stores } from './app/options.js'
export { createServer, type SvcServer, serve } from './app/server.js'
// Call and pay
export * from './client.js'
export type { AgentDef, AgentOptions } from './domain/agent.js'
export type {
  BodyOf,
  EndpointDef,
  EndpointOptions,
  Handler,
  HandlerContext,
  HandlerPayment,
  JSONSchema,
  Method,
  PriceContext,
  PriceFunction,
  Subscription,
} from './domain/endpoint.js'
// The drawings that run
export { type Charged, chargeMachine, OUTCOMES, type Outcome } from './domain/machines/charge.machine.js'
export { claimMachine } from './domain/machines/claim.machine.js'
export { paymentMachine } from './domain/machines/payment.machine.js'
export { shutdownMachine } from './domain/machines/shutdown.machine.js'
export { subscriptionMachine } from './domain/machines/subscription.machine.js'
export { type Manifest, type ManifestEndpoint, manifest } from './domain/manifest.js'

// Ports, for those who bring their own stores
export type { ChargeStore } from './ports/charge-store.js'
export type { Logger } from './ports/logger.js'
export type { RateLimit } from './ports/rate-limit.js'
export type { Runs } from './ports/runs.js'
export type { SubscriptionRecord, SubscriptionStore } from './ports/subscriptions.js'
export type { EndedCall, Witness } from './ports/witness.js'
