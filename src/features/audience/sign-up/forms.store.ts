import { cutPage, pageSql, pageValues, type Executor, type Page } from '../../../platform/db/index.ts';
import type { Language } from '../readers/reader-texts.ts';

export interface FormRow {
  id: string;
  team_id: string;
  name: string;
  topic_id: string | null;
  /** A JSON array. */
  segment_ids: string;
  /** Sender of the confirmation mail; null with a template. */
  sender: string | null;
  confirmation_template_id: string | null;
  redirect_url: string | null;
  confirmed_url: string | null;
  /** A JSON array. */
  allowed_origins: string;
  enabled: number;
  proof_of_work: number;
  created_at: number;
}

const COLUMNS = [
  'id',
  'team_id',
  'name',
  'topic_id',
  'segment_ids',
  'sender',
  'confirmation_template_id',
  'redirect_url',
  'confirmed_url',
  'allowed_origins',
  'enabled',
  'proof_of_work',
  'created_at',
] as const;

export async function insertForm(tx: Executor, row: FormRow): Promise<void> {
  await tx.insertMany('sign_up_forms', COLUMNS, [COLUMNS.map((column) => row[column])]);
}

export async function updateFormRow(tx: Executor, row: FormRow): Promise<void> {
  const columns = COLUMNS.filter((column) => !['id', 'team_id', 'created_at'].includes(column));
  const sql = `update sign_up_forms set ${columns.map((column) => `${column} = ?`).join(', ')} where id = ?`;
  await tx.run(sql, [...columns.map((column) => row[column]), row.id]);
}

/** Deletes a form with its sign-ups that were not mailed. Returns whether there was one. */
export async function removeForm(tx: Executor, teamId: string, id: string): Promise<boolean> {
  if ((await tx.run('delete from sign_up_forms where team_id = ? and id = ?', [teamId, id])) === 0) return false;
  await tx.run('delete from form_sign_ups where form_id = ?', [id]);
  await tx.run('delete from topic_confirmation_mails where topic_id = ?', [id]);
  return true;
}

export const findForm = (db: Executor, teamId: string, id: string): Promise<FormRow | undefined> =>
  db.get<FormRow>('select * from sign_up_forms where team_id = ? and id = ?', [teamId, id]);

/** Finds a form of any team, for its public page. */
export const findPublicForm = (db: Executor, id: string): Promise<FormRow | undefined> =>
  db.get<FormRow>('select * from sign_up_forms where id = ?', [id]);

export async function countForms(db: Executor, teamId: string): Promise<number> {
  return Number(
    (await db.get<{ n: number }>('select count(*) as n from sign_up_forms where team_id = ?', [teamId]))?.n,
  );
}

export async function listFormRows(
  db: Executor,
  teamId: string,
  page: Page,
): Promise<{ rows: FormRow[]; hasMore: boolean }> {
  const sql = pageSql('sign_up_forms', 'team_id = ?', page);
  return cutPage(await db.all<FormRow>(sql, [teamId, ...pageValues(page)]), page);
}

/** An address that was sent with a form and is still to be mailed. */
export interface SignUpRow {
  id: string;
  team_id: string;
  form_id: string;
  email: string;
  /** The address as contacts are found by it. */
  email_key: string;
  language: Language;
  due_at: number;
  created_at: number;
}

const SIGN_UP_COLUMNS = ['id', 'team_id', 'form_id', 'email', 'email_key', 'language', 'due_at', 'created_at'] as const;

export async function insertSignUp(tx: Executor, row: SignUpRow): Promise<void> {
  await tx.insertMany('form_sign_ups', SIGN_UP_COLUMNS, [SIGN_UP_COLUMNS.map((column) => row[column])]);
}

/** Returns the sign-ups whose mail is due, oldest first. */
export const dueSignUps = (db: Executor, now: number, limit: number): Promise<SignUpRow[]> =>
  db.all<SignUpRow>('select * from form_sign_ups where due_at <= ? order by due_at, id limit ?', [now, limit]);

export const postponeSignUp = (tx: Executor, id: string, dueAt: number): Promise<number> =>
  tx.run('update form_sign_ups set due_at = ? where id = ?', [dueAt, id]);

export const removeSignUp = (tx: Executor, id: string): Promise<number> =>
  tx.run('delete from form_sign_ups where id = ?', [id]);

/** Erases an address from the sign-ups of a team that are still to be mailed. */
export const eraseSignUps = (tx: Executor, teamId: string, emailKey: string): Promise<number> =>
  tx.run('delete from form_sign_ups where team_id = ? and email_key = ?', [teamId, emailKey]);

/** An address is mailed at most once in this time, whatever the forms and teams. */
const HOUR_MS = 3_600_000;

/** Counts a sign-up of an address. Returns false if the address was counted within the last hour. */
export async function countAddress(tx: Executor, emailHash: string, now: number): Promise<boolean> {
  // A single statement, so that only one of several concurrent requests counts.
  const counted = await tx.run(
    `insert into form_sign_up_addresses (email_hash, last_at) values (?, ?)
      on conflict (email_hash) do update set last_at = excluded.last_at where form_sign_up_addresses.last_at <= ?`,
    [emailHash, now, now - HOUR_MS],
  );
  return counted > 0;
}

export const removeOldAddresses = (db: Executor, now: number): Promise<number> =>
  db.run('delete from form_sign_up_addresses where last_at <= ?', [now - HOUR_MS]);

/** Records that a challenge was solved. Returns false if it was recorded before, by any node. */
export async function insertProof(tx: Executor, challenge: string, expiresAt: number): Promise<boolean> {
  const inserted = await tx.run(
    'insert into form_proofs (challenge, expires_at) values (?, ?) on conflict (challenge) do nothing',
    [challenge, expiresAt],
  );
  return inserted > 0;
}

/** Removes challenges an hour after they have expired, so that a node whose clock is slow accepts none again. */
export const removeOldProofs = (db: Executor, now: number): Promise<number> =>
  db.run('delete from form_proofs where expires_at <= ?', [now - HOUR_MS]);
