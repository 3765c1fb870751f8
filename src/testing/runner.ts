/** What contracts are given: a test runner's functions, and the store of windows that two contracts test. */
import type { SubscriptionStore } from '../ports/subscriptions.js'

/** The functions of a test runner that the contracts use. Those of Vitest and of Jest fit; neither is loaded here. */
export interface TestRunner {
  /** Groups tests. */
  describe(title: string, body: () => void): unknown
  /** Defines a test. */
  it(title: string, body: () => Promise<void> | void): unknown
  /** Asserts. */
  readonly expect: Expect
}

/** Begins an assertion. */
export interface Expect {
  (value: unknown): Expected
  /** Equals any value of this type. */
  any(type: typeof Number): unknown
}

/** The assertions that the contracts use, as in Vitest and Jest. */
export interface Expected {
  /** The same value. */
  toBe(value: unknown): void
  /** The same, field by field. */
  toEqual(value: unknown): void
  /** Counts as true. */
  toBeTruthy(): void
  /** Counts as false. */
  toBeFalsy(): void
  /** A larger number. */
  toBeGreaterThan(value: number): void
  /** A smaller number. */
  toBeLessThan(value: number): void
  /** No larger a number. */
  toBeLessThanOrEqual(value: number): void
  /** An array with such an element. */
  toContainEqual(value: unknown): void
  /** Of this length. */
  toHaveLength(length: number): void
}

/**
 * Defines the tests that every implementation of a port has to pass.
 *
 * @param runner Your test runner's functions.
 * @param name The implementation's name in the titles of tests.
 * @param make Makes what one test is about.
 * @param more What else a contract asks for.
 * @typeParam Make How it is made.
 * @typeParam More What else a contract asks for.
 */
export type Contract<Make, More extends unknown[] = []> = (
  runner: TestRunner,
  name: string,
  make: Make,
  ...more: More
) => void

/** A {@link SubscriptionStore} under test, and its time. */
export interface SubscriptionsHarness {
  /** May have windows of other tests. */
  readonly store: SubscriptionStore
  /** The time by the store's clock. */
  now(): number
  /** Lets time pass for the store: it moves the store's clock, or waits. */
  advance(ms: number): Promise<void> | void
  /** The length of a window: long enough for a few operations, short enough to wait for its end. */
  readonly windowMs: number
  /** The store dies with the process of its calls, so no reservation ends by time. */
  readonly inProcess?: boolean
}

/** Makes the store of one test. Called once for each test. */
export type MakeSubscriptions = () => SubscriptionsHarness | Promise<SubscriptionsHarness>
