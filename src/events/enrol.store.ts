import { textsIn, uuidsIn, type Executor, type Value } from '../platform/db/index.ts';
import type { Ids } from '../platform/ids/index.ts';
import { normalizeAddress, parseMailbox } from '../protocol/address/index.ts';
import { isByMachine, type NewEvent } from './new-event.ts';

/** The types of recorded events that automations may start at, of a contact or of an email that one was sent. */
const OF_CONTACTS = ['contact.created', 'contact.updated'] as const;
const OF_EMAILS = ['email.opened', 'email.clicked', 'email.bounced'] as const;

/** All that automations may start at beside the events of a team's own. */
export const ENROLLING_TYPES = [
  ...OF_CONTACTS,
  ...(['contact.topic_changed', 'contact.added_to_segment'] as const),
  ...OF_EMAILS,
] as const;
export type EnrollingType = (typeof ENROLLING_TYPES)[number];

/** Something that happened to a contact. */
export interface Enrolment {
  teamId: string;
  contactId: string;
  /** An event of the team's own, by its id, or one of the platform; of a segment, begins also what starts at that one alone. */
  by: { eventId: string } | { type: EnrollingType; segmentId?: string };
  payload: object | undefined;
  at: number;
  /** How many runs, one started by the effects of the other, led to this. */
  depth?: number | undefined;
}

/** So many runs may be started one by the effects of the other, behind the first. */
const DEPTH_MAX = 5;
/** So many runs of one automation may the platform's events begin for one contact in an hour. */
const RUNS_AN_HOUR_MAX = 100;
const HOUR_MS = 3_600_000;

interface Starting {
  id: string;
  version: number;
}

/** Begins a run of each enabled automation that starts at this, in the transaction that records it. */
export async function enrol(tx: Executor, ids: Ids, enrolment: Enrolment): Promise<void> {
  const { teamId, by } = enrolment;
  await begin(tx, ids, enrolment, await startingAt(tx, teamId, by));
}

/** Does so for what was recorded, where it is of a contact, or of an email that went to one; not where a machine opened or clicked. */
export async function enrolByEvents(tx: Executor, ids: Ids, events: readonly NewEvent[]): Promise<void> {
  // A batch may hold thousands of openings of one team.
  const known = new Map<string, Promise<Starting[]>>();
  const startingOnce = (teamId: string, type: EnrollingType): Promise<Starting[]> => {
    const key = `${teamId} ${type}`;
    const found = known.get(key) ?? startingAt(tx, teamId, { type });
    known.set(key, found);
    return found;
  };
  for (const event of events) {
    const { type, teamId, subjectId, data: payload, at, depth } = event;
    const ofContact = OF_CONTACTS.find((one) => one === type);
    if (ofContact) await enrol(tx, ids, { teamId, contactId: subjectId, by: { type: ofContact }, payload, at, depth });
    const ofEmail = OF_EMAILS.find((one) => one === type);
    if (!ofEmail || isByMachine(event)) continue;
    const automations = await startingOnce(teamId, ofEmail);
    if (automations.length === 0) continue;
    const told = { ...payload, email_id: subjectId };
    for (const contactId of await contactsOf(tx, event)) {
      await begin(tx, ids, { teamId, contactId, by: { type: ofEmail }, payload: told, at }, automations);
    }
  }
}

/** They are held until the end of the transaction, so that no run begins behind one that is being stopped. */
function startingAt(tx: Executor, teamId: string, by: Enrolment['by']): Promise<Starting[]> {
  const [where, wanted]: [string, Value[]] =
    'eventId' in by
      ? ['trigger_event_id = ?', [by.eventId]]
      : [
          'trigger_type = ? and (trigger_segment_id is null or trigger_segment_id = ?)',
          [by.type, by.segmentId ?? null],
        ];
  const hold = tx.dialect === 'pg' ? ' for share' : '';
  const sql = `select id, version from automations
    where team_id = ? and ${where} and status = 'enabled' and deleted_at is null order by id${hold}`;
  return tx.all<Starting>(sql, [teamId, ...wanted]);
}

const COLUMNS = [
  ...(['id', 'team_id', 'automation_id', 'version', 'contact_id', 'payload', 'status'] as const),
  ...(['due_at', 'created_at', 'depth', 'completed_at', 'error'] as const),
];

/** What may not begin is written down as a run that is cancelled, with the reason. */
async function begin(
  tx: Executor,
  ids: Ids,
  { teamId, contactId, by, payload, at, depth = 0 }: Enrolment,
  automations: readonly Starting[],
): Promise<void> {
  if (automations.length === 0) return;
  const said = payload === undefined ? null : JSON.stringify(payload);
  const rows: Value[][] = [];
  for (const { id, version } of automations) {
    const why = 'type' in by ? await whyNot(tx, { automationId: id, contactId, depth, at }) : undefined;
    rows.push([
      ...[ids.uuid(), teamId, id, version, contactId, said],
      ...(why === undefined ? ['running', at, at, depth, null, null] : ['cancelled', at, at, depth, at, why]),
    ]);
  }
  await tx.insertMany('automation_runs', COLUMNS, rows);
}

/** What automations do may start others, and themselves: that comes to an end. */
async function whyNot(
  tx: Executor,
  { automationId, contactId, depth, at }: { automationId: string; contactId: string; depth: number; at: number },
): Promise<string | undefined> {
  if (depth > DEPTH_MAX) {
    return `not begun: ${depth} runs, one started by what the other did, led to it, and at most ${DEPTH_MAX} may`;
  }
  const sql = `select count(*) as n from (select 1 from automation_runs
    where contact_id = ? and automation_id = ? and created_at > ? and status <> 'cancelled' limit ?) as begun`;
  const row = await tx.get<{ n: number }>(sql, [contactId, automationId, at - HOUR_MS, RUNS_AN_HOUR_MAX]);
  if (Number(row?.n) < RUNS_AN_HOUR_MAX) return undefined;
  return `not begun: this automation began ${RUNS_AN_HOUR_MAX} runs for the contact within an hour, and no more may`;
}

/**
 * The contacts whom an event of an email is about: whose address it names, or else the only one that it went to. Of an email to
 * several, who of them has read it is not known. They are held: one that is erased meanwhile would leave its run behind.
 */
async function contactsOf(tx: Executor, { teamId, subjectId, data }: NewEvent): Promise<string[]> {
  const named = data !== undefined && 'to' in data ? data.to : undefined;
  const addresses = named && named.length > 0 ? named : await soleRecipient(tx, subjectId);
  if (addresses.length === 0) return [];
  const among = textsIn(tx.dialect, 'email_key', [...new Set(addresses.map(normalizeAddress))]);
  const hold = tx.dialect === 'pg' ? ' for key share' : '';
  const sql = `select id from contacts where team_id = ? and ${among.sql} order by id${hold}`;
  return (await tx.all<{ id: string }>(sql, [teamId, among.value])).map(({ id }) => id);
}

async function soleRecipient(tx: Executor, emailId: string): Promise<string[]> {
  const among = uuidsIn(tx.dialect, 'id', [emailId]);
  const sql = `select to_list, cc_list, bcc_list from emails where ${among.sql}`;
  const row = await tx.get<Record<string, string | null>>(sql, [among.value]);
  const written = Object.values(row ?? {}).flatMap((json) => (json === null ? [] : (JSON.parse(json) as string[])));
  const parsed = written.map((text) => parseMailbox(text));
  const addresses = new Set(parsed.flatMap((one) => (one.ok ? [normalizeAddress(one.mailbox.address)] : [])));
  return addresses.size === 1 ? [...addresses] : [];
}
