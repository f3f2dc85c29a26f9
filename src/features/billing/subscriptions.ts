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
import { audited, whoActed } from '../../tenancy/audit/index.ts';
import { createSendSwitch } from '../../tenancy/instance/index.ts';

/** Clocks differ by less; what was signed earlier has been copied and sent again. */
const SIGNED_WITHIN_MS = 300_000;
const ID_CHARS_MAX = 255;
const KEPT_MS = 30 * 86_400_000;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Takes an event of a provider. It is believed in one thing alone, that something has changed for a team: what holds is asked of
 * the provider. It returns once that is written, so that an event whose answer is lost may come again; one that was read is not
 * read twice.
 */
export async function takeEvent(store: Store, provider: PaymentProvider, request: EventRequest): Promise<void> {
  const event = await provider.readEvent(request);
  if (!event) throw unbelieved('It bears no signature of the payment provider.');
  const now = store.clock.now();
  if (Math.abs(now - event.signedAt) > SIGNED_WITHIN_MS) {
    throw unbelieved(
      'It was signed more than five minutes from now; the provider signs it anew when it sends it again.',
    );
  }
  if (event.id === '' || event.id.length > ID_CHARS_MAX) throw unbelieved('Its id must be of 1 to 255 characters.');
  const teamId = await ownTeam(store, event.teamId);
  const noted = { provider: provider.name, eventId: event.id, teamId: teamId ?? null };
  if ((await noteEvent(store.db, noted, now)).isRead) return;
  if (teamId !== undefined) await mustRead(store, provider, teamId);
  await markEventRead(store.db, noted, store.clock.now());
}

/** Events of other things, and of others who share the account of the provider, are nothing to us. */
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
      say: 'The payment provider could not be asked what has changed; send the event again.',
      because: error,
    });
  }
}

const unbelieved = (say: string): Refusal =>
  refuse('validation_error', { status: 400, say: `The event is refused. ${say}` });

/** Providers give up sending an event again long before. */
export const forgetPaymentEvents = ({ db, clock }: Store): Promise<number> =>
  removeEventsBefore(db, clock.now() - KEPT_MS);

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

const HOUR_MS = 3_600_000;
const TEAMS_AT_ONCE = 200;

/**
 * Asks about subscriptions whose period ended an hour ago, of which an event should have told: each once an hour. So a lost event
 * keeps no plan for ever, and a finding says that events do not come. A restored copy leaves it to its original. Answers how many
 * were asked about.
 */
export async function recheckSubscriptions(store: Store, provider: PaymentProvider): Promise<number> {
  if (provider.name === noPayments.name || (await createSendSwitch(store)()).isRestored) return 0;
  const before = store.clock.now() - HOUR_MS;
  const teams = await overdueSubscriptions(store.db, before, TEAMS_AT_ONCE);
  for (const teamId of teams) {
    try {
      await readSubscription(store, provider, teamId, { isRecheck: true });
    } catch (error) {
      store.log.warn({ err: error, teamId }, 'the payment provider could not be asked about a subscription');
    }
  }
  return teams.length;
}

/**
 * For every event of a provider that concerns a team, whatever it says, and for a recheck without one: asks how the subscription
 * stands, and makes the plan follow. The newest question wins, so that events in any order end in the same state. Answers whether something was written.
 */
export async function readSubscription(
  store: Store,
  provider: PaymentProvider,
  teamId: string,
  { isRecheck = false }: { isRecheck?: boolean } = {},
): Promise<boolean> {
  const { clock, db } = store;
  const question = await countQuestion(db, teamId, clock.now());
  const subscription = (await provider.fetchSubscription(teamId)) ?? (await endedOf(store, teamId));
  if (!subscription) return false;
  const { status, periodStart, periodEnd } = subscription;
  const row = { status, current_period_start: periodStart, current_period_end: periodEnd };
  const target = planFor(store, teamId, subscription);
  const write = (held: Store, expected: string | undefined): Promise<Written> =>
    held.db.tx(async (tx) => {
      // Somebody gave it another plan since: the entry of the audit log would say what was not so.
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
      ? audited(store, { ...noteOf(provider, teamId), details: JSON.stringify(details) }).store
      : store;
    written = await write(held, plan);
  }
  return written === 'written';
}

type Written = 'written' | 'superseded' | 'again';

/** What the provider knows no more has ended. Of what it never knew, such as a plan that the operator gave, it says nothing. */
async function endedOf({ db }: Store, teamId: string): Promise<ProviderSubscription | undefined> {
  const before = await findSubscription(db, teamId);
  if (!before) return undefined;
  const { current_period_start: periodStart, current_period_end: periodEnd } = before;
  return { status: 'canceled', plan: '', periodStart, periodEnd };
}

/** Undefined where the team keeps the one that it has. */
function planFor({ config, log }: Store, teamId: string, { status, plan }: ProviderSubscription): string | undefined {
  if (status === 'canceled') return config.team.default_plan;
  if (status !== 'active') return undefined;
  if (isPlan(config, plan)) return plan;
  log.warn({ teamId, plan }, 'a subscription is for a plan that the configuration does not have');
  return undefined;
}

const noteOf = ({ name }: PaymentProvider, teamId: string) => ({
  action: 'billing.plan_changed',
  team_id: teamId,
  subject_id: teamId,
  ...whoActed({ kind: 'job', name: `payment provider ${name}` }),
  address: null,
  user_agent: null,
  request_id: null,
});
