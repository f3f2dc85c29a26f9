import { refuse, type Refusal } from '../../../platform/refusal/index.ts';
import type { SubscriptionStatus } from '../invoices/index.ts';

/** How a subscription stands at the provider at this moment. */
export interface ProviderSubscription {
  status: SubscriptionStatus;
  /** The code of the plan that is paid for. */
  plan: string;
  periodStart: number;
  periodEnd: number;
}

/** An event as it came, before anybody has believed a word of it. */
export interface EventRequest {
  /** Their names in small letters. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The bytes that were signed, not parsed yet. */
  body: Buffer;
}

export interface ProviderEvent {
  /** The same however often it is sent. */
  id: string;
  signedAt: number;
  /** Undefined where it concerns no team. */
  teamId: string | undefined;
}

/** Who takes payments. Its events are only a reason to ask it again: they may come late, twice and in any order. */
export interface PaymentProvider {
  name: string;
  /** The address of a page on which a team pays for a plan. */
  checkout(order: { teamId: string; plan: string }): Promise<string>;
  /** The address of a page on which a team looks after how it pays. */
  portal(teamId: string): Promise<string>;
  /** What stands in an event; undefined unless the provider has signed these very bytes. How old it may be is not its matter. */
  readEvent(request: EventRequest): Promise<ProviderEvent | undefined>;
  /** Undefined where it knows none of the team: one that it knew before has ended. Rejects where it cannot say. */
  fetchSubscription(teamId: string): Promise<ProviderSubscription | undefined>;
}

/** The provider of an installation on which nothing is paid. */
export const noPayments: PaymentProvider = {
  name: 'none',
  checkout: () => Promise.reject(noProvider()),
  portal: () => Promise.reject(noProvider()),
  readEvent: () => Promise.reject(noProvider()),
  fetchSubscription: () => Promise.resolve(undefined),
};

const noProvider = (): Refusal =>
  refuse('not_implemented', {
    say: 'This installation has no payment provider; pay its invoices as its operator says. Plans are changed by the operator, or with POST /billing/plan by an owner where billing.self_service is on.',
  });
