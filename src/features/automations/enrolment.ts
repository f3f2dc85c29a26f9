import type { BodyOf, QueryOf } from '../../contract/index.ts';
import { isoTime, nextTurn } from '../../platform/clock.ts';
import type { Executor } from '../../platform/db/index.ts';
import type { Store } from '../../platform/store.ts';
import { notFound, refuse } from '../../platform/refusal.ts';
import {
  enrol,
  listRefusals,
  readEntry,
  removeOldRefusals,
  type RefusalReason,
  type RefusalRow,
} from '../../mail/events/index.ts';
import { readDate } from '../../protocol/written-date.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import {
  contactNamed,
  declaredProperties,
  findContactsByIds,
  mayMail,
  readPropertyValues,
  type ContactRow,
} from '../audience/index.ts';
import { contactZones } from '../campaigns/index.ts';
import { listRunRows, removeOldOccurrences } from './automation-runs.store.ts';
import { findContactId, loadAutomation, loadGraph, presentRun } from './automations.ts';
import type { AutomationRow } from './automations.store.ts';
import { isVariable } from './check-steps.ts';
import { findNext, formatDay, type DateTrigger } from './date-trigger.ts';
import { isRecord, type Graph } from './graph.ts';
import { findZone } from './runner/start-dates.ts';
import { findCustomEvent } from './custom-events.store.ts';
import { findPayloadFault, readNamedContact } from './custom-events.ts';

/** Starts a run for one contact. Throws with the reason if the contact may not enter, which is recorded as well. */
export async function createAutomationRun(ctx: Ctx, id: string, input: BodyOf<'createAutomationRun'>) {
  const { store, teamId } = ctx;
  const { payload } = input;
  const named = readNamedContact(input);
  const row = await loadAutomation(ctx, id);
  const outcome = await store.db.tx(async (tx) => {
    await mustMatchTrigger(tx, row, payload ?? {});
    // Locks the contact: if it were erased meanwhile, its run would be left over.
    const { id: contactId } = await contactNamed(tx, teamId, named, true);
    const [one] = await enrol(tx, store.ids, [
      { teamId, contactId, by: { automationId: id }, payload, at: store.clock.now() },
    ]);
    return one;
  });
  if (outcome?.runId !== undefined) {
    const { steps } = await loadGraph(ctx, id, row.version);
    const missing = listMissing(steps, payload ?? {});
    return {
      object: 'automation_run' as const,
      id: outcome.runId,
      ...(missing.length > 0 && {
        warnings: [
          `The steps read ${missing.join(', ')}, which the payload does not have; the fallback of the template applies, or the step fails.`,
        ],
      }),
    };
  }
  const reason = outcome?.refused ?? 'disabled';
  throw refuse('validation_error', { status: 422, say: `No run was started. ${OBSTACLES[reason]}` });
}

/** Lists the variables of the event that emails of the steps read and a payload lacks. */
function listMissing(steps: Graph['steps'], payload: Readonly<Record<string, unknown>>): string[] {
  const read = steps.flatMap(({ config: { template } }) =>
    isRecord(template) && isRecord(template['variables']) ? Object.values(template['variables']) : [],
  );
  const names = read.flatMap((value) => (isVariable(value) && value.var.startsWith('event.') ? [value.var] : []));
  const hasValue = (name: string): boolean => {
    const key = name.slice('event.'.length);
    return Object.hasOwn(payload, key) && payload[key] !== null;
  };
  return [...new Set(names)].filter((name) => !hasValue(name));
}

/** Checks a payload as an event of the automation's trigger would be. An event that was deleted checks nothing. */
export async function mustMatchTrigger(
  db: Executor,
  row: AutomationRow,
  payload: Readonly<Record<string, unknown>>,
): Promise<void> {
  const eventId = row.trigger_event_id;
  const event = eventId === null ? undefined : await findCustomEvent(db, row.team_id, eventId);
  const refusal = findPayloadFault(payload, event?.payload_schema ?? null);
  if (refusal) throw refusal;
}

type Obstacle = 'disabled' | 'deleted' | 'in_progress' | 'entered_before';

const OBSTACLES: Record<Obstacle | RefusalReason, string> = {
  disabled: 'The automation is disabled; enable it first.',
  deleted: 'The contact was deleted; a contact that is created with the same address is another one.',
  in_progress: 'The contact has a run in progress, and reentry is when_ended.',
  entered_before: 'The contact has entered the automation before, and reentry is never.',
  limit: 'The limit of runs that automations start for a contact was exceeded.',
  payload: 'The payload does not match the schema of the event.',
};

const REFUSED: Record<RefusalReason, string> = {
  disabled: 'The automation was disabled.',
  in_progress: 'The contact had a run in progress, and reentry was when_ended.',
  entered_before: 'The contact had entered the automation before, and reentry was never.',
  limit: 'The limit of runs that automations start for a contact was exceeded.',
  payload: 'The payload did not match the schema of the event.',
};

/** Explains whether a contact may enter an automation, and why events have started no run for it. */
export async function getAutomationEnrolment(ctx: Ctx, id: string, query: QueryOf<'getAutomationEnrolment'>) {
  const { store, teamId } = ctx;
  const { db } = store;
  const automation = await loadAutomation(ctx, id);
  const contactId = await findContactId(db, teamId, query.contact);
  const [contact] = await findContactsByIds(db, teamId, [contactId]);
  const { rows } = await listRunRows(db, id, { contactId }, { limit: 1 });
  const [latest] = rows;
  // A deleted contact is known only by its runs.
  if (!contact && !latest) throw notFound('Contact');
  const obstacles = contact ? await listObstacles(db, automation, contactId) : (['deleted'] as const);
  const excluded = (await mayMail(db, teamId, { contactIds: [contactId], topicId: null })).get(contactId);
  const refusals = await listRefusals(db, { automationId: id, contactId });
  return {
    object: 'automation_enrolment' as const,
    automation_id: id,
    contact_id: contactId,
    may_start: obstacles.length === 0,
    obstacles: presentObstacles(obstacles),
    date: contact ? await describeDate(store, automation, contact) : null,
    mail_excluded: excluded === undefined || excluded === 'topic_opt_out' ? null : excluded,
    latest_run: latest ? presentRun(latest) : null,
    refusals: refusals.map(presentRefusal),
  };
}

export const presentObstacles = (obstacles: readonly Obstacle[]) =>
  obstacles.map((reason) => ({ reason, message: OBSTACLES[reason] }));

interface DateOfContact {
  property: string;
  value: string | null;
  occurs_on: string | null;
  starts_at: string | null;
  message: string;
}

/** Explains when the date of a contact starts a run next; null if no dates start the automation. */
export async function describeDate(
  { db, clock }: Pick<Store, 'db' | 'clock'>,
  automation: AutomationRow,
  contact: ContactRow,
): Promise<DateOfContact | null> {
  const { team_id: teamId, trigger_date: written, trigger_property_id: propertyId } = automation;
  if (written === null) return null;
  const trigger = JSON.parse(written) as DateTrigger;
  const property = (await declaredProperties(db, teamId)).find(({ id }) => id === propertyId);
  const none = { property: property?.key ?? '', value: null, occurs_on: null, starts_at: null };
  if (!property) return { ...none, message: 'The property whose dates start the automation was deleted.' };
  const value = readPropertyValues(contact)[property.slot];
  if (typeof value !== 'string' || value === '')
    return { ...none, message: `The contact has no value of ${property.key}.` };
  const date = readDate(value);
  if (!date) {
    const message = `${property.key} is ${JSON.stringify(value.slice(0, 60))}, which is no date as YYYY-MM-DD or MM-DD.`;
    return { ...none, value, message };
  }
  const zone = findZone(contact, await contactZones(db, teamId));
  const next = findNext(date, trigger, { zone, after: clock.now() });
  if (!next) return { ...none, value, message: `The date in ${property.key} has passed, or has no year.` };
  const at = isoTime(next.at);
  const message = `${property.key} is ${value}. It occurs next on ${formatDay(next.day)} and starts a run at ${at}, ${trigger.hour}:00 in ${nameZone(zone.name)}.`;
  return { property: property.key, value, occurs_on: formatDay(next.day), starts_at: at, message };
}

/** Returns the name of a time zone in its usual letter case. */
const nameZone = (name: string): string => new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;

const presentRefusal = ({ reason, detail, times, first_at: firstAt, last_at: lastAt }: RefusalRow) => ({
  reason,
  message: detail ?? REFUSED[reason],
  times: Number(times),
  first_at: isoTime(Number(firstAt)),
  last_at: isoTime(Number(lastAt)),
});

export async function listObstacles(db: Executor, automation: AutomationRow, contactId: string): Promise<Obstacle[]> {
  const { id, status, reentry } = automation;
  const found: Obstacle[] = status === 'enabled' ? [] : ['disabled'];
  if (reentry === 'always') return found;
  const { isLive, hasBeen } = await readEntry(db, { automationId: id, contactId });
  if (reentry === 'when_ended' && isLive) found.push('in_progress');
  if (reentry === 'never' && hasBeen) found.push('entered_before');
  return found;
}

const REMOVED_AT_ONCE = 1000;

/** A date has passed everywhere after two days, and is caught up within another one. */
const OCCURRENCES_KEPT_MS = 7 * 86_400_000;

/** Removes refusals and dates that are no longer kept, a batch at a time. */
export async function removeOldEnrolments({ db, clock }: Store): Promise<void> {
  while ((await removeOldRefusals(db, clock.now(), REMOVED_AT_ONCE)) === REMOVED_AT_ONCE) await nextTurn();
  const before = clock.now() - OCCURRENCES_KEPT_MS;
  while ((await removeOldOccurrences(db, before, REMOVED_AT_ONCE)) === REMOVED_AT_ONCE) await nextTurn();
}
