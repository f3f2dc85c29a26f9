import { refuse, Refusal } from '../../platform/refusal.ts';
import type { Store } from '../../platform/store.ts';
import {
  markEventRead,
  noteEvent,
  removeEventsBefore,
  countQuestion,
  findSubscription,
  noteMissed,
  writeAnswer,
  overdueSubscriptions,
  type SubscriptionStatus,
} from './subscriptions.store.ts';
import { findTeam, changePlan } from '../../tenancy/teams/index.ts';
import { isPlan } from '../../platform/config/index.ts';
import { lockTeam } from '../../tenancy/access/index.ts';
import { audited, describeActor } from '../../tenancy/audit/index.ts';
import { createSendSwitch } from '../../tenancy/instance/index.ts';

/** Clocks differ by less; an older signature is of a replayed event. */
const SIGNED_WITHIN_MS = 300_000;
const ID_CHARS_MAX = 255;
const KEPT_MS = 30 * 86_400_000;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Accepts an event of a provider. An event is trusted only as a hint that something has changed for a team: the state
 * itself is requested from the provider. Returns once that is written, so that an event whose response is lost may come
 * again; an event that was processed is not processed twice.
 */
export async function takeEvent(store: Store, provider: PaymentProvider, request: EventRequest): Promise<void> {
  const event = await provider.readEvent(request);
  if (!event) throw unbelieved('It has no valid signature of the payment provider.');
  const now = store.clock.now();
  if (Math.abs(now - event.signedAt) > SIGNED_WITHIN_MS) {
    throw unbelieved('Its signature is more than five minutes old or ahead; send the event again, newly signed.');
  }
  if (event.id === '' || event.id.length > ID_CHARS_MAX) throw unbelieved('Its id must have 1 to 255 characters.');
  const teamId = await ownTeam(store, event.teamId);
  const noted = { provider: provider.name, eventId: event.id, teamId: teamId ?? null };
  if ((await noteEvent(store.db, noted, now)).isRead) return;
  if (teamId !== undefined) await mustRead(store, provider, teamId);
  await markEventRead(store.db, noted, store.clock.now());
}

/** Returns the team; ignores events about other things, and of others who share the account at the provider. */
async function ownTeam({ db }: Store, id: string | undefined): Promise<string | undefined> {
  if (id === undefined || !UUID.test(id)) return undefined;
  return (await findTeam(db, id.toLowerCase()))?.id;
}

async function mustRead(store: Store, provider: PaymentProvider, teamId: string): Promise<void> {
  try {
    await readSubscription(store, provider, teamId);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw refuse('service_unavailable', {
      say: 'The payment provider could not be reached to read what has changed; send the event again.',
      because: error,
    });
  }
}

const unbelieved = (say: string): Refusal =>
  refuse('validation_error', { status: 400, say: `The event was refused. ${say}` });

/** Removes old events; providers give up resending an event long before. */
export const forgetPaymentEvents = ({ db, clock }: Store): Promise<number> =>
  removeEventsBefore(db, clock.now() - KEPT_MS);

/** Current state of a subscription at the provider. */
export interface ProviderSubscription {
  status: SubscriptionStatus;
  /** Code of the paid plan. */
  plan: string;
  periodStart: number;
  periodEnd: number;
}

/** An event as it was received, not verified yet. */
export interface EventRequest {
  /** Headers by lower-case name. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Signed bytes, not parsed yet. */
  body: Buffer;
}

export interface ProviderEvent {
  /** Id that stays the same however often the event is sent. */
  id: string;
  signedAt: number;
  /** Team of the event; undefined if it concerns none. */
  teamId: string | undefined;
}

/** Payment provider. Its events are only hints to query it: they may come late, twice and in any order. */
export interface PaymentProvider {
  name: string;
  /** Returns the URL of a page on which a team pays for a plan. */
  checkout(order: { teamId: string; plan: string }): Promise<string>;
  /** Returns the URL of a page on which a team manages its payment methods. */
  portal(teamId: string): Promise<string>;
  /** Parses an event; returns undefined unless the provider has signed these exact bytes. Does not check the age. */
  readEvent(request: EventRequest): Promise<ProviderEvent | undefined>;
  /**
   * Returns the subscription of a team; undefined if the provider has none, which means that an earlier one has ended.
   * Rejects if the state is unknown.
   */
  fetchSubscription(teamId: string): Promise<ProviderSubscription | undefined>;
}

/** The provider of an installation without payments. */
export const noPayments: PaymentProvider = {
  name: 'none',
  checkout: () => Promise.reject(noProvider()),
  portal: () => Promise.reject(noProvider()),
  readEvent: () => Promise.reject(noProvider()),
  fetchSubscription: () => Promise.resolve(undefined),
};

const noProvider = (): Refusal =>
  refuse('not_implemented', {
    say: 'This installation has no payment provider; ask its operator how to pay its invoices. The operator changes plans, or, if billing.self_service is on, an owner with POST /billing/plan.',
  });

const HOUR_MS = 3_600_000;
const TEAMS_AT_ONCE = 200;

/**
 * Queries subscriptions whose period ended an hour ago without an event, each once an hour. So a lost event does not
 * keep a plan forever, and a finding reports that events do not arrive. A restored copy leaves this to its original.
 * Returns how many were queried.
 */
export async function recheckSubscriptions(store: Store, provider: PaymentProvider): Promise<number> {
  if (provider.name === noPayments.name || (await createSendSwitch(store)()).isRestored) return 0;
  const before = store.clock.now() - HOUR_MS;
  const teams = await overdueSubscriptions(store.db, before, TEAMS_AT_ONCE);
  for (const teamId of teams) {
    try {
      await readSubscription(store, provider, teamId, { isRecheck: true });
    } catch (error) {
      store.log.warn({ err: error, teamId }, 'could not query the payment provider about a subscription');
    }
  }
  return teams.length;
}

/**
 * Queries a subscription and changes the plan accordingly, for every event of a provider that concerns a team, whatever
 * it says, and for a recheck without one. The newest query wins, so that events in any order lead to the same state.
 * Returns whether something was written.
 */
export async function readSubscription(
  store: Store,
  provider: PaymentProvider,
  teamId: string,
  { isRecheck = false }: { isRecheck?: boolean } = {},
): Promise<boolean> {
  const { clock, db } = store;
  const question = await countQuestion(db, teamId, clock.now());
  const subscription = (await provider.fetchSubscription(teamId)) ?? (await findEndedSubscription(store, teamId));
  if (!subscription) return false;
  const { status, periodStart, periodEnd } = subscription;
  const row = { status, current_period_start: periodStart, current_period_end: periodEnd };
  const target = planFor(store, teamId, subscription);
  const write = (held: Store, expected: string | undefined): Promise<Written> =>
    held.db.tx(async (tx) => {
      // The plan was changed since: the entry of the audit log would be false.
      if ((await lockTeam(tx, teamId)) !== expected) return 'again';
      const before = await findSubscription(tx, teamId);
      if (!(await writeAnswer(tx, teamId, { question, row }))) return 'superseded';
      const isNews = before?.status !== status || before.current_period_end !== periodEnd;
      if (!isRecheck || isNews) await noteMissed(tx, teamId, isRecheck ? clock.now() : null);
      if (target !== undefined) await changePlan(store, tx, teamId, target);
      return 'written';
    });
  let written: Written = 'again';
  while (written === 'again') {
    const plan = (await findTeam(db, teamId))?.plan_code;
    const isOther = target !== undefined && target !== plan;
    const details = { plan: target, plan_before: plan, subscription: status };
    const held = isOther
      ? audited(store, { ...buildAuditNote(provider, teamId), details: JSON.stringify(details) }).store
      : store;
    written = await write(held, plan);
  }
  return written === 'written';
}

type Written = 'written' | 'superseded' | 'again';

/**
 * Returns a canceled subscription if the provider no longer knows the one that the team had; undefined if it never had
 * one, as with a plan that the operator gave.
 */
async function findEndedSubscription({ db }: Store, teamId: string): Promise<ProviderSubscription | undefined> {
  const before = await findSubscription(db, teamId);
  if (!before) return undefined;
  const { current_period_start: periodStart, current_period_end: periodEnd } = before;
  return { status: 'canceled', plan: '', periodStart, periodEnd };
}

/** Returns the plan for a subscription; undefined if the team keeps its plan. */
function planFor({ config, log }: Store, teamId: string, { status, plan }: ProviderSubscription): string | undefined {
  if (status === 'canceled') return config.team.default_plan;
  if (status !== 'active') return undefined;
  if (isPlan(config, plan)) return plan;
  log.warn({ teamId, plan }, 'a subscription is for a plan that the configuration does not have');
  return undefined;
}

const buildAuditNote = ({ name }: PaymentProvider, teamId: string) => ({
  action: 'billing.plan_changed',
  team_id: teamId,
  subject_id: teamId,
  ...describeActor({ kind: 'job', name: `payment provider ${name}` }),
  address: null,
  user_agent: null,
  request_id: null,
});
