import { cutPage, pageSql, pageValues, uuidsIn, type Executor, type Page } from '../../../platform/db/index.ts';
import type { Subscription } from '../../../protocol/contact-filter/index.ts';

export interface TopicRow {
  id: string;
  team_id: string;
  name: string;
  description: string | null;
  default_subscription: Subscription;
  visibility: 'public' | 'private';
  /** 'required' if an opt-in through the API waits for the contact's confirmation. */
  confirmation: 'none' | 'required';
  /** Template of the confirmation mail. */
  confirmation_template_id: string | null;
  /** Local times such as 21:00, between which no marketing mail of the topic is sent; null without quiet hours. */
  quiet_from: string | null;
  quiet_to: string | null;
  created_at: number;
}

const COLUMNS = [
  'id',
  'team_id',
  'name',
  'description',
  'default_subscription',
  'visibility',
  'confirmation',
  'confirmation_template_id',
  'quiet_from',
  'quiet_to',
  'created_at',
] as const;
const LIVE = 'team_id = ? and deleted_at is null';

export async function insertTopic(tx: Executor, row: TopicRow): Promise<void> {
  await tx.insertMany('topics', COLUMNS, [COLUMNS.map((column) => row[column])]);
}

/** Returns all topics of a team that are not deleted; a team has few. */
export function liveTopics(db: Executor, teamId: string): Promise<TopicRow[]> {
  return db.all<TopicRow>(`select ${COLUMNS.join(', ')} from topics where ${LIVE} order by id`, [teamId]);
}

/** A topic that has quiet hours. */
export type QuietTopic = Pick<TopicRow, 'id' | 'name'> & { quiet_from: string; quiet_to: string };

/** Returns the topics of these teams that have quiet hours. */
export function quietTopics(db: Executor, teamIds: readonly string[]): Promise<QuietTopic[]> {
  const among = uuidsIn(db.dialect, 'team_id', teamIds);
  const sql = `select id, name, quiet_from, quiet_to from topics
    where ${among.sql} and quiet_from is not null and deleted_at is null`;
  return db.all<QuietTopic>(sql, [among.value]);
}

export async function countTopics(db: Executor, teamId: string): Promise<number> {
  return (await db.get<{ n: number }>(`select count(*) as n from topics where ${LIVE}`, [teamId]))?.n ?? 0;
}

export function findTopic(db: Executor, teamId: string, id: string): Promise<TopicRow | undefined> {
  return db.get<TopicRow>(`select ${COLUMNS.join(', ')} from topics where ${LIVE} and id = ?`, [teamId, id]);
}

export async function listTopicRows(
  db: Executor,
  teamId: string,
  page: Page,
): Promise<{ rows: TopicRow[]; hasMore: boolean }> {
  return cutPage(await db.all<TopicRow>(pageSql('topics', LIVE, page), [teamId, ...pageValues(page)]), page);
}

export async function updateTopicRow(
  tx: Executor,
  row: Omit<TopicRow, 'team_id' | 'default_subscription' | 'created_at'>,
): Promise<void> {
  const columns = [
    'name',
    'description',
    'visibility',
    'confirmation',
    'confirmation_template_id',
    'quiet_from',
    'quiet_to',
  ] as const;
  const sql = `update topics set ${columns.map((column) => `${column} = ?`).join(', ')} where id = ?`;
  await tx.run(sql, [...columns.map((column) => row[column]), row.id]);
}

/** Marks a topic as deleted. Returns whether this call deleted it. */
export async function markTopicDeleted(tx: Executor, teamId: string, id: string, at: number): Promise<boolean> {
  return (await tx.run(`update topics set deleted_at = ? where ${LIVE} and id = ?`, [at, teamId, id])) === 1;
}

export interface ChoiceRow {
  contact_id: string;
  topic_id: string;
  subscription: Subscription;
}

/** Returns the topic choices of these contacts. */
export function listChoices(db: Executor, contactIds: readonly string[]): Promise<ChoiceRow[]> {
  const among = uuidsIn(db.dialect, 'contact_id', contactIds);
  return db.all<ChoiceRow>(`select contact_id, topic_id, subscription from contact_topics where ${among.sql}`, [
    among.value,
  ]);
}

export async function writeChoices(tx: Executor, rows: readonly ChoiceRow[]): Promise<void> {
  await tx.insertMany(
    'contact_topics',
    ['contact_id', 'topic_id', 'subscription'],
    rows.map((row) => [row.contact_id, row.topic_id, row.subscription]),
    'on conflict (contact_id, topic_id) do update set subscription = excluded.subscription',
  );
}

export const removeChoices = (tx: Executor, contactId: string): Promise<number> =>
  tx.run('delete from contact_topics where contact_id = ?', [contactId]);
