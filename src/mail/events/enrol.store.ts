import { hash } from 'node:crypto';
import { nextTurn } from '../../platform/clock.ts';
import { textsIn, uuidsIn, type Executor, type Value } from '../../platform/db/index.ts';
import type { Ids } from '../../platform/ids.ts';
import { normalizeAddress, parseMailbox } from '../../protocol/address/index.ts';
import { isByMachine, type NewEvent } from './event.ts';
import { endRuns, listExits, type Exit } from './exits.store.ts';
import { recordRefusals, REFUSALS_KEPT_MS, type RefusalReason } from './refusals.store.ts';

/** The types of recorded events that automations may start at: of a contact, or of an email sent to one. */
const OF_CONTACTS = ['contact.created', 'contact.updated'] as const;
const OF_EMAILS = ['email.opened', 'email.clicked', 'email.bounced'] as const;

/** All types that automations may start at, in addition to a team's own events. */
export const ENROLLING_TYPES = [
  ...OF_CONTACTS,
  'contact.topic_changed',
  'contact.added_to_segment',
  ...OF_EMAILS,
] as const;
export type EnrollingType = (typeof ENROLLING_TYPES)[number];

/** An event of a contact that may start automations. */
export interface Enrolment {
  teamId: string;
  contactId: string;
  /**
   * An event of the team's own, by its id, or one of the platform. One of a segment also starts automations that name
   * that segment. An automation that is named itself is the only one that starts.
   */
  by: { eventId: string } | { type: EnrollingType; segmentId?: string } | { automationId: string };
  payload: object | undefined;
  at: number;
  /** Length of the chain of runs, each started by the effects of the previous one, that led to this. */
  depth?: number | undefined;
  /** The batch that the event is one of, however few of it there are in this transaction: `numberBatch` of an import, for instance. */
  batch?: number | undefined;
}

/** Few enough that the next runs of each batch are looked up in one statement. */
export const BATCHES = 7;

/** Returns the number of a batch of runs, which batches share by chance if there are many at a time. */
export const numberBatch = (id: string): number =>
  1 + (Buffer.from(hash('sha256', id, 'buffer')).readUInt32BE() % BATCHES);

/** Maximum length of a chain of runs, each started by the effects of the previous one, after the first. */
const DEPTH_MAX = 5;
/** Maximum number of runs of one automation that events of the platform may start for one contact in an hour. */
const RUNS_AN_HOUR_MAX = 100;
/**
 * Maximum number of refused runs that are recorded for a contact in an hour, so that refused runs cannot pile up
 * either.
 */
const CUT_AN_HOUR_MAX = 10;
const HOUR_MS = 3_600_000;

/** When an event of a contact may start another run: always, only while none of its runs is under way, or never. */
export type Reentry = 'always' | 'when_ended' | 'never';

/** The result of an event for one automation and contact: the run that it began, or why it began none. */
export interface Outcome {
  automationId: string;
  contactId: string;
  at: number;
  runId?: string;
  refused?: RefusalReason;
}

interface Starting {
  id: string;
  version: number;
  status: 'enabled' | 'disabled';
  reentry: Reentry;
  /** The only segment that it starts at, if it names one. */
  trigger_segment_id: string | null;
}

/** The automations that start at an event, and the exits of those whose runs it ends, by `toKey` of the event. */
type Known = Map<string, { starting: Starting[]; exits: Exit[] }>;
const toKey = ({ teamId, by }: Pick<Enrolment, 'teamId' | 'by'>): string => {
  if ('type' in by) return `${teamId} ${by.type}`;
  return `${teamId} ${'eventId' in by ? by.eventId : by.automationId}`;
};

/**
 * Ends the runs of automations that one of these events ends, and then begins a run of each enabled automation that
 * starts at one, in the transaction that records them; records which start none and why. One enrolment takes as many
 * statements as a page of them: they grow only with the number of teams and of kinds of events.
 */
export async function enrol(
  tx: Executor,
  ids: Ids,
  enrolments: readonly Enrolment[],
  known: Known = new Map(),
): Promise<Outcome[]> {
  for (const [key, group] of Map.groupBy(enrolments, toKey)) {
    if (!known.has(key)) known.set(key, await automationsOf(tx, group));
    await endRuns(tx, ids, { exits: known.get(key)?.exits ?? [], events: group.filter(mayEndRuns) });
  }
  const wanted = enrolments.flatMap((enrolment) =>
    (known.get(toKey(enrolment))?.starting ?? [])
      .filter(({ trigger_segment_id: only }) => only === null || only === toSegmentId(enrolment))
      .map((automation) => ({ enrolment, automation })),
  );
  if (wanted.length === 0) return [];
  const together = numberBatch(ids.uuid());
  const counts = Map.groupBy(wanted, ({ automation }) => automation.id);
  const isBulk = (automationId: string): boolean => (counts.get(automationId)?.length ?? 0) >= BULK_MIN;
  const bulkBatch = (automationId: string): number => (isBulk(automationId) ? together : 0);
  const outcomes: Outcome[] = [];
  for (let from = 0; from < wanted.length; from += RUNS_A_TURN) {
    // A transaction of many runs would keep the event loop from everything else.
    if (from > 0) await nextTurn();
    outcomes.push(...(await begin(tx, ids, wanted.slice(from, from + RUNS_A_TURN), bulkBatch)));
  }
  const refused = outcomes.flatMap(({ automationId, contactId, at, refused: reason }) =>
    reason === undefined ? [] : [{ automationId, contactId, at, reason }],
  );
  await recordRefusals(tx, refused);
  return outcomes;
}

/**
 * Reports whether an event ends runs. A change of a contact by a step of an automation does not: it is written in the
 * transaction of the step, whose own run it could end.
 */
const mayEndRuns = ({ by, depth = 0 }: Enrolment): boolean =>
  depth === 0 || !('type' in by) || OF_EMAILS.some((one) => one === by.type);

/** Returns the ids of the enabled automations of a team that start at an event of its own. */
export async function listStartingAtEvent(db: Executor, teamId: string, eventId: string): Promise<string[]> {
  const sql = `select id from automations where team_id = ? and trigger_event_id = ? and status = 'enabled' and deleted_at is null`;
  return (await db.all<{ id: string }>(sql, [teamId, eventId])).map(({ id }) => id);
}

/** Few enough that inserting them takes a few milliseconds. */
const RUNS_A_TURN = 400;

/**
 * Enrols by recorded events of contacts, and of emails that went to a contact, except for opens and clicks by machines.
 */
export async function enrolByEvents(tx: Executor, ids: Ids, events: readonly NewEvent[]): Promise<void> {
  const ofContacts = events.flatMap(({ type, teamId, subjectId: contactId, data: payload, at, depth }): Enrolment[] => {
    const ofContact = OF_CONTACTS.find((one) => one === type);
    return ofContact ? [{ teamId, contactId, by: { type: ofContact }, payload, at, depth }] : [];
  });
  const known: Known = new Map();
  await enrol(tx, ids, [...ofContacts, ...(await ofMail(tx, events, known))], known);
}

async function automationsOf(tx: Executor, group: readonly Pick<Enrolment, 'teamId' | 'by' | 'at'>[]) {
  const [first] = group;
  return { starting: await startingAt(tx, group), exits: first ? await listExits(tx, first) : [] };
}

/**
 * Finds the automations that start at an event, locked until the end of the transaction, so that no run begins after
 * its automation was stopped. Those that were disabled lately are included, because their refusals are recorded.
 */
async function startingAt(
  tx: Executor,
  group: readonly Pick<Enrolment, 'teamId' | 'by' | 'at'>[],
): Promise<Starting[]> {
  const [first] = group;
  if (!first) return [];
  const { teamId, by, at } = first;
  const segments = uuidsIn(tx.dialect, 'trigger_segment_id', [
    ...new Set(group.flatMap((one) => toSegmentId(one) ?? [])),
  ]);
  const [where, wanted]: [string, Value[]] =
    'type' in by
      ? [`trigger_type = ? and (trigger_segment_id is null or ${segments.sql})`, [by.type, segments.value]]
      : 'eventId' in by
        ? ['trigger_event_id = ?', [by.eventId]]
        : ['id = ?', [by.automationId]];
  const hold = tx.dialect === 'pg' ? ' for share' : '';
  const sql = `select id, version, status, reentry, trigger_segment_id from automations
    where team_id = ? and ${where} and (status = 'enabled' or disabled_at > ?) and deleted_at is null order by id${hold}`;
  return tx.all<Starting>(sql, [teamId, ...wanted, at - REFUSALS_KEPT_MS]);
}

/** Counts the enabled automations of a team that start at an event of the platform. */
export async function countStarting(tx: Executor, teamId: string): Promise<number> {
  const row = await tx.get<{ count: number }>(
    `select count(*) as count from automations
      where team_id = ? and trigger_type is not null and status = 'enabled' and deleted_at is null`,
    [teamId],
  );
  return Number(row?.count ?? 0);
}

const toSegmentId = ({ by }: Pick<Enrolment, 'by'>): string | undefined => ('type' in by ? by.segmentId : undefined);

const COLUMNS = [
  'id',
  'team_id',
  'automation_id',
  'version',
  'contact_id',
  'payload',
  'status',
  'due_at',
  'created_at',
  'depth',
  'completed_at',
  'error',
  'batch',
] as const;

/** Runs of an automation that begin in one transaction are a batch from this number on. */
const BULK_MIN = 10;

interface Wanted {
  enrolment: Enrolment;
  automation: Starting;
}

/**
 * Begins runs. A run that exceeds a limit is recorded as `cancelled`, with the reason. `bulkBatch` returns the batch of
 * an automation's runs that are not of a batch by themselves.
 */
async function begin(
  tx: Executor,
  ids: Ids,
  asked: readonly Wanted[],
  bulkBatch: (automationId: string) => number,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const refuse = ({ enrolment: { contactId, at }, automation }: Wanted, refused: RefusalReason): void =>
    void outcomes.push({ automationId: automation.id, contactId, at, refused });
  const enabled = asked.filter(({ automation }) => automation.status === 'enabled');
  for (const one of asked) if (one.automation.status !== 'enabled') refuse(one, 'disabled');
  const wanted = await entering(tx, enabled, refuse);
  const before = await begunOfLate(tx, wanted);
  const here = new Map<string, { at: number; isCut: boolean }[]>();
  const entries: Value[][] = [];
  const runs = wanted.flatMap((one): { automationId: string; batch: number; row: Value[] }[] => {
    const { enrolment, automation } = one;
    const { teamId, contactId, payload, at, depth = 0 } = enrolment;
    const pair = toPairKey(contactId, automation.id);
    const late = (here.get(pair) ?? []).filter((one) => one.at > at - HOUR_MS);
    const { begun = 0, cut = 0 } = before.get(`${pair} ${at - HOUR_MS}`) ?? {};
    const cutHere = late.filter(({ isCut }) => isCut).length;
    const why = findObstacle(enrolment, begun + late.length - cutHere);
    if (why !== undefined) refuse(one, 'limit');
    if (why !== undefined && cut + cutHere >= CUT_AN_HOUR_MAX) return [];
    here.set(pair, [...late, { at, isCut: why !== undefined }]);
    if (why === undefined && automation.reentry === 'never') entries.push([automation.id, contactId, at]);
    const said = payload === undefined ? null : JSON.stringify(payload);
    const end = why !== undefined ? ['cancelled', at, at, depth, at, why] : ['running', at, at, depth, null, null];
    const runId = ids.uuid();
    if (why === undefined) outcomes.push({ automationId: automation.id, contactId, at, runId });
    const row: Value[] = [runId, teamId, automation.id, automation.version, contactId, said, ...end];
    // It is not known here whether the runs that led to it were many: the runs of each depth are a batch.
    const batch = enrolment.batch ?? Math.min(depth, BATCHES);
    return [{ automationId: automation.id, batch, row }];
  });
  const entry = ['automation_id', 'contact_id', 'created_at'];
  if (entries.length > 0) await tx.insertMany('automation_entries', entry, entries, 'on conflict do nothing');
  const rows = runs.map(({ automationId, batch, row }) => [...row, batch || bulkBatch(automationId)]);
  if (rows.length > 0) await tx.insertMany('automation_runs', COLUMNS, rows);
  return outcomes;
}

const toPairKey = (contactId: string, automationId: string): string => `${contactId} ${automationId}`;

/**
 * Leaves out contacts that have been in an automation they may not enter again, or are in one they may enter only after
 * leaving it.
 */
async function entering(
  tx: Executor,
  wanted: readonly Wanted[],
  refuse: (one: Wanted, reason: RefusalReason) => void,
): Promise<readonly Wanted[]> {
  const limited = wanted.filter(({ automation }) => automation.reentry !== 'always');
  if (limited.length === 0) return wanted;
  const inside = await entered(tx, limited);
  return wanted.filter((one) => {
    const { contactId } = one.enrolment;
    const { id, reentry } = one.automation;
    if (reentry === 'always') return true;
    const pair = toPairKey(contactId, id);
    const { isLive, hasBeen } = inside.get(pair) ?? { isLive: false, hasBeen: false };
    inside.set(pair, { isLive: true, hasBeen: true });
    const isRefused = reentry === 'never' ? hasBeen : isLive;
    if (isRefused) refuse(one, reentry === 'never' ? 'entered_before' : 'in_progress');
    return !isRefused;
  });
}

/** Locks the contacts: of two concurrent events the second sees the run that the first began. */
async function entered(tx: Executor, limited: readonly Wanted[]): Promise<Map<string, Entry>> {
  const contacts = [...new Set(limited.map(({ enrolment }) => enrolment.contactId))];
  if (tx.dialect === 'pg') {
    const among = uuidsIn(tx.dialect, 'id', contacts);
    await tx.all(`select id from contacts where ${among.sql} order by id for no key update`, [among.value]);
  }
  const pairs = limited.map(({ enrolment: { contactId }, automation }) => ({ contactId, automationId: automation.id }));
  return readEntries(tx, pairs);
}

/** Whether a contact has a run in progress, and whether it has ever entered the automation. */
interface Entry {
  isLive: boolean;
  hasBeen: boolean;
}

interface Pair {
  contactId: string;
  automationId: string;
}

export async function readEntry(db: Executor, pair: Pair): Promise<Entry> {
  const entry = (await readEntries(db, [pair])).get(toPairKey(pair.contactId, pair.automationId));
  return entry ?? { isLive: false, hasBeen: false };
}

async function readEntries(db: Executor, pairs: readonly Pair[]): Promise<Map<string, Entry>> {
  const asked = new Map(
    pairs.map(({ contactId, automationId }) => [
      toPairKey(contactId, automationId),
      { contact_id: contactId, automation_id: automationId },
    ]),
  );
  const from =
    db.dialect === 'pg'
      ? 'jsonb_to_recordset(?::jsonb) as w(contact_id uuid, automation_id uuid)'
      : `(select value->>'contact_id' as contact_id, value->>'automation_id' as automation_id from json_each(?)) as w`;
  const run = 'select 1 from automation_runs r where r.contact_id = w.contact_id and r.automation_id = w.automation_id';
  const sql = `select w.contact_id, w.automation_id,
      case when exists (${run} and r.status = 'running') then 1 else 0 end as live,
      case when exists (${run} and (r.status <> 'cancelled' or r.error is null)) or exists (select 1 from automation_entries e
        where e.automation_id = w.automation_id and e.contact_id = w.contact_id) then 1 else 0 end as been from ${from}`;
  type Row = { contact_id: string; automation_id: string; live: number; been: number };
  const rows = await db.all<Row>(sql, [JSON.stringify([...asked.values()])]);
  return new Map(
    rows.map(({ contact_id, automation_id, live, been }) => [
      toPairKey(contact_id, automation_id),
      { isLive: live === 1, hasBeen: been === 1 },
    ]),
  );
}

/**
 * Returns why a run may not begin, undefined if it may. The effects of automations may start others, and themselves;
 * the limits end such chains.
 */
function findObstacle({ by, depth = 0 }: Enrolment, begun: number): string | undefined {
  if (!('type' in by)) return undefined;
  if (depth > DEPTH_MAX) {
    return `not begun: ${depth} runs, one started by what the other did, led to it, and at most ${DEPTH_MAX} may`;
  }
  if (begun < RUNS_AN_HOUR_MAX) return undefined;
  return `not begun: this automation began ${RUNS_AN_HOUR_MAX} runs for the contact within an hour, and no more may`;
}

/**
 * Returns how many runs began in the past hour and how many were refused, by contact, automation and the beginning of
 * that hour.
 */
async function begunOfLate(
  tx: Executor,
  wanted: readonly Wanted[],
): Promise<Map<string, { begun: number; cut: number }>> {
  const asked = new Map(
    wanted
      .filter(({ enrolment: { by } }) => 'type' in by)
      .map(({ enrolment: { contactId, at }, automation }) => {
        const since = at - HOUR_MS;
        const pair = { contact_id: contactId, automation_id: automation.id };
        return [`${toPairKey(contactId, automation.id)} ${since}`, { ...pair, since }];
      }),
  );
  if (asked.size === 0) return new Map();
  const from =
    tx.dialect === 'pg'
      ? 'jsonb_to_recordset(?::jsonb) as w(contact_id uuid, automation_id uuid, since bigint)'
      : `(select value->>'contact_id' as contact_id, value->>'automation_id' as automation_id, value->>'since' as since
          from json_each(?)) as w`;
  const late = (which: string): string => `(select count(*) from (select 1 from automation_runs r
      where r.contact_id = w.contact_id and r.automation_id = w.automation_id and r.created_at > w.since
        and ${which} limit ?) as late)`;
  const sql = `select w.contact_id, w.automation_id, w.since, ${late("r.status <> 'cancelled'")} as begun,
      ${late("r.status = 'cancelled' and r.error is not null")} as cut from ${from}`;
  type Row = { contact_id: string; automation_id: string; since: number; begun: number; cut: number };
  const rows = await tx.all<Row>(sql, [RUNS_AN_HOUR_MAX, CUT_AN_HOUR_MAX, JSON.stringify([...asked.values()])]);
  return new Map(
    rows.map(({ contact_id, automation_id, since, begun, cut }) => [
      `${toPairKey(contact_id, automation_id)} ${since}`,
      { begun: Number(begun), cut: Number(cut) },
    ]),
  );
}

/**
 * Turns events of emails into enrolments of the contacts concerned: the one whose address an event names, or else the
 * only recipient of the email. For an email to several it is not known which of them has read it. An event of an email
 * that a run sent is one level deeper than the run. Looks nothing up if no automation starts at it.
 */
async function ofMail(tx: Executor, events: readonly NewEvent[], known: Known): Promise<Enrolment[]> {
  const told = events.flatMap((event) => {
    const type = OF_EMAILS.find((one) => one === event.type);
    return type && !isByMachine(event) ? [{ event, teamId: event.teamId, at: event.at, by: { type } }] : [];
  });
  for (const [key, group] of Map.groupBy(told, toKey)) known.set(key, await automationsOf(tx, group));
  const started = told.filter((one) => {
    const { starting = [], exits = [] } = known.get(toKey(one)) ?? {};
    return starting.length > 0 || exits.length > 0;
  });
  if (started.length === 0) return [];
  const mails = await mailsAmong(tx, [...new Set(started.map(({ event }) => event.subjectId))]);
  const addressed = started.map((one) => {
    const { data, subjectId } = one.event;
    const mail = mails.get(subjectId);
    const named = data !== undefined && 'to' in data && typeof data.to !== 'string' ? data.to : undefined;
    const keys = named && named.length > 0 ? named.map(normalizeAddress) : (mail?.soleRecipient ?? []);
    return { ...one, keys, depth: mail?.depth };
  });
  const contacts = await contactsAmong(tx, addressed);
  return addressed.flatMap(({ event: { teamId, subjectId, data, at }, by, keys, depth }) => {
    const payload = { ...data, email_id: subjectId };
    const ids = new Set(keys.flatMap((key) => contacts.get(`${teamId} ${key}`) ?? []));
    return [...ids].sort().map((contactId): Enrolment => ({ teamId, contactId, by, payload, at, depth }));
  });
}

/** Locks the contacts: a contact that is erased meanwhile would leave its run in the database. */
async function contactsAmong(
  tx: Executor,
  addressed: readonly { teamId: string; keys: readonly string[] }[],
): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const teams = [...Map.groupBy(addressed, ({ teamId }) => teamId)].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [teamId, group] of teams) {
    const keys = [...new Set(group.flatMap((one) => one.keys))];
    if (keys.length === 0) continue;
    const among = textsIn(tx.dialect, 'email_key', keys);
    const hold = tx.dialect === 'pg' ? ' for key share' : '';
    const sql = `select id, email_key from contacts where team_id = ? and ${among.sql} order by id${hold}`;
    const rows = await tx.all<{ id: string; email_key: string }>(sql, [teamId, among.value]);
    for (const row of rows) found.set(`${teamId} ${row.email_key}`, row.id);
  }
  return found;
}

interface Mail {
  /** The address it went to, if it is only one. */
  soleRecipient: string[];
  /** Depth of the enrolments that it leads to, if a run of an automation sent it. */
  depth: number | undefined;
}

async function mailsAmong(tx: Executor, emailIds: readonly string[]): Promise<Map<string, Mail>> {
  const among = uuidsIn(tx.dialect, 'id', emailIds);
  const sql = `select id, to_list, cc_list, bcc_list, run_depth from emails where ${among.sql}`;
  type Row = { id: string; run_depth: number | null } & Record<'to_list' | 'cc_list' | 'bcc_list', string | null>;
  return new Map(
    (await tx.all<Row>(sql, [among.value])).map(({ id, to_list, cc_list, bcc_list, run_depth: ofRun }) => {
      const lists = [to_list, cc_list, bcc_list];
      const written = lists.flatMap((json) => (json === null ? [] : (JSON.parse(json) as string[])));
      const parsed = written.map((text) => parseMailbox(text));
      const addresses = new Set(parsed.flatMap((one) => (one.ok ? [normalizeAddress(one.mailbox.address)] : [])));
      const depth = ofRun === null ? undefined : ofRun + 1;
      return [id, { soleRecipient: addresses.size === 1 ? [...addresses] : [], depth }];
    }),
  );
}
