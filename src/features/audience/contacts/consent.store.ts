import { createHash } from 'node:crypto';
import { pageSql, pageValues, textsIn, type Executor, type Page } from '../../../platform/db/index.ts';
import type { Store } from '../../../platform/store.ts';

export type ConsentAction = 'unsubscribed' | 'resubscribed' | 'opt_in' | 'opt_out';
export type ConsentSource =
  | 'api'
  | 'import'
  | 'one_click'
  | 'unsubscribe_mail'
  | 'preference_page'
  | 'confirmation'
  | 'carried_over';

export interface Consent {
  contact: { team_id: string; id: string; email_key: string };
  action: ConsentAction;
  topicId?: string;
}

/** Who decided for a contact: the caller of an operation, an automation or an import. */
export interface Decider {
  kind: string;
  id: string | null;
}

/** Source of decisions, and the email that led to them, if any. */
export interface ConsentOrigin {
  source: ConsentSource;
  emailId?: string | null;
  /** Left out if the contact decided itself, by a link. */
  by?: Decider;
  /** Depth for automation runs that these decisions start, if an automation made them. */
  depth?: number;
  /** The batch of the automation runs that these decisions start, if they are many. */
  batch?: number | undefined;
  /** True if the choices of an import start automation runs. */
  startsRuns?: boolean;
}

export interface ConsentRow {
  id: string;
  action: ConsentAction;
  topic_id: string | null;
  source: ConsentSource;
  email_id: string | null;
  created_at: number;
  actor_kind: string | null;
  actor_id: string | null;
}

/** Hashes an address. The hash cannot be reversed, but can be looked up by the address. */
export const hashOfEmail = (emailKey: string): string => createHash('sha256').update(emailKey).digest('hex');

const COLUMNS = [
  'id',
  'team_id',
  'contact_id',
  'email_hash',
  'action',
  'topic_id',
  'source',
  'email_id',
  'created_at',
  'actor_kind',
  'actor_id',
] as const;

/** Records decisions. A record outlives its contact, so it never contains the address itself. */
export async function recordConsent(
  store: Store,
  tx: Executor,
  { source, emailId = null, by }: ConsentOrigin,
  decisions: readonly Consent[],
): Promise<void> {
  if (decisions.length === 0) return;
  const at = store.clock.now();
  await tx.insertMany(
    'consent_records',
    COLUMNS,
    decisions.map(({ contact, action, topicId = null }) => {
      const hash = hashOfEmail(contact.email_key);
      const who = [by?.kind ?? null, by?.id ?? null];
      return [store.ids.uuid(), contact.team_id, contact.id, hash, action, topicId, source, emailId, at, ...who];
    }),
  );
}

/** Reads one page of a contact's records, and one more. */
export function listConsents(db: Executor, contactId: string, page: Page): Promise<ConsentRow[]> {
  const columns = 'id, action, topic_id, source, email_id, created_at, actor_kind, actor_id';
  const sql = pageSql('consent_records', 'contact_id = ?', page, columns);
  return db.all<ConsentRow>(sql, [contactId, ...pageValues(page)]);
}

/** Reads one page of the records of an address, whichever contact they were for, oldest first, and one more. */
export function listConsentsOfEmail(
  db: Executor,
  { teamId, emailKey }: { teamId: string; emailKey: string },
  { limit, after }: Pick<Page, 'limit' | 'after'>,
): Promise<ConsentRow[]> {
  // SQLite may read all records of the team without the hint.
  const index = db.dialect === 'pg' ? '' : ' indexed by consent_records_of_email';
  const sql = `select id, action, topic_id, source, email_id, created_at, actor_kind, actor_id from consent_records${index}
    where team_id = ? and email_hash = ? ${after === undefined ? '' : 'and id > ?'} order by id limit ?`;
  const edge = after === undefined ? [] : [after];
  return db.all<ConsentRow>(sql, [teamId, hashOfEmail(emailKey), ...edge, limit + 1]);
}

/** Counts the records of an address, whichever contact they were for. */
export async function countConsentsOfEmail(
  db: Executor,
  { teamId, emailKey }: { teamId: string; emailKey: string },
): Promise<number> {
  // SQLite may read all records of the team without the hint.
  const index = db.dialect === 'pg' ? '' : ' indexed by consent_records_of_email';
  const sql = `select count(*) as count from consent_records${index} where team_id = ? and email_hash = ?`;
  return Number((await db.get<{ count: number }>(sql, [teamId, hashOfEmail(emailKey)]))?.count ?? 0);
}

/** Counts the topics of a team that an address was asked to confirm lately. */
export async function countConfirmationMails(
  db: Executor,
  { teamId, emailKey }: { teamId: string; emailKey: string },
): Promise<number> {
  const sql = `select count(*) as count from topic_confirmation_mails
    where topic_id in (select id from topics where team_id = ?) and email_hash = ?`;
  return Number((await db.get<{ count: number }>(sql, [teamId, hashOfEmail(emailKey)]))?.count ?? 0);
}

/** Opt-outs of an address according to the last decisions about it, whichever contact they were for. */
export interface OptOuts {
  /** Opted out of all marketing mail. */
  all: boolean;
  topicIds: string[];
}

/**
 * Returns the opt-outs by address for those of the addresses that have any, with a single index lookup for all of them.
 * With `isOwn`, leaves out those that a caller, an import or an automation decided: the others were decided by the
 * person, by a link or by mail, or stand although their contact was erased.
 */
export async function optOutsAmong(
  db: Executor,
  teamId: string,
  emailKeys: readonly string[],
  { isOwn = false }: { isOwn?: boolean } = {},
): Promise<Map<string, OptOuts>> {
  const keysByHash = new Map(emailKeys.map((key) => [hashOfEmail(key), key]));
  const among = textsIn(db.dialect, 'email_hash', [...keysByHash.keys()]);
  // SQLite may read all records of the team without the hint.
  const index = db.dialect === 'pg' ? '' : ' indexed by consent_records_of_email';
  const sql = `select email_hash, topic_id from (
      select email_hash, topic_id, action, actor_kind,
        row_number() over (partition by email_hash, topic_id order by id desc) as place
      from consent_records${index} where team_id = ? and ${among.sql}) as decisions
    where place = 1 and action in ('unsubscribed', 'opt_out')${isOwn ? ' and actor_kind is null' : ''}`;
  const found = new Map<string, OptOuts>();
  const rows = await db.all<{ email_hash: string; topic_id: string | null }>(sql, [teamId, among.value]);
  for (const { email_hash: hash, topic_id: topicId } of rows) {
    const key = keysByHash.get(hash) ?? '';
    const { all, topicIds } = found.get(key) ?? { all: false, topicIds: [] };
    found.set(key, topicId === null ? { all: true, topicIds } : { all, topicIds: [...topicIds, topicId] });
  }
  return found;
}
