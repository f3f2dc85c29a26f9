import type { Executor, Value } from '../platform/db/index.ts';
import type { Ids } from '../platform/ids/index.ts';
import type { EventType } from './vocabulary.ts';

/** The types that automations may start at: each is about one contact, its subject. */
export const ENROLLING_TYPES = ['contact.created', 'contact.updated'] as const satisfies readonly EventType[];
export type EnrollingType = (typeof ENROLLING_TYPES)[number];

export const isEnrolling = (type: string): type is EnrollingType =>
  (ENROLLING_TYPES as readonly string[]).includes(type);

/** Something that happened to a contact. */
export interface Enrolment {
  teamId: string;
  contactId: string;
  /** An event of the team's own, by its id, or one of the platform. */
  by: { eventId: string } | { type: EnrollingType };
  payload: object | undefined;
  at: number;
}

const COLUMNS = [
  ...(['id', 'team_id', 'automation_id', 'version', 'contact_id', 'payload', 'status'] as const),
  ...(['due_at', 'created_at'] as const),
];

/**
 * Begins a run of each enabled automation that starts at this, in the transaction that records it. The automations are held
 * until its end, so that no run begins behind one that is being stopped.
 */
export async function enrol(tx: Executor, ids: Ids, { teamId, contactId, by, payload, at }: Enrolment): Promise<void> {
  const [where, wanted]: [string, Value] =
    'eventId' in by ? ['trigger_event_id = ?', by.eventId] : ['trigger_type = ?', by.type];
  const hold = tx.dialect === 'pg' ? ' for share' : '';
  const sql = `select id, version from automations
    where team_id = ? and ${where} and status = 'enabled' and deleted_at is null order by id${hold}`;
  const automations = await tx.all<{ id: string; version: number }>(sql, [teamId, wanted]);
  if (automations.length === 0) return;
  const said = payload === undefined ? null : JSON.stringify(payload);
  const rows = automations.map(({ id, version }) => [
    ...[ids.uuid(), teamId, id, version, contactId, said],
    ...['running', at, at],
  ]);
  await tx.insertMany('automation_runs', COLUMNS, rows);
}
