import type { Executor } from '../../platform/db/index.ts';

export interface IdentityRow {
  id: string;
  connection_id: string;
  user_id: string;
  subject: string | null;
  created_at: number;
}

const COLUMNS = ['id', 'connection_id', 'user_id', 'subject', 'created_at'] as const;

export const insertIdentity = (tx: Executor, row: IdentityRow): Promise<number> =>
  tx.insertMany('sso_identities', COLUMNS, [COLUMNS.map((column) => row[column])]);

export const identityOfSubject = (
  db: Executor,
  connectionId: string,
  subject: string,
): Promise<IdentityRow | undefined> =>
  db.get<IdentityRow>('select * from sso_identities where connection_id = ? and subject = ?', [connectionId, subject]);

export const identityOfUser = (db: Executor, connectionId: string, userId: string): Promise<IdentityRow | undefined> =>
  db.get<IdentityRow>('select * from sso_identities where connection_id = ? and user_id = ?', [connectionId, userId]);

export const setSubject = (tx: Executor, id: string, subject: string): Promise<number> =>
  tx.run('update sso_identities set subject = ? where id = ? and subject is null', [subject, id]);

export const removeIdentity = (tx: Executor, connectionId: string, userId: string): Promise<number> =>
  tx.run('delete from sso_identities where connection_id = ? and user_id = ?', [connectionId, userId]);

/** Whom the provider of a team knows, with their addresses in both forms. */
export const peopleOfSso = (
  db: Executor,
  teamId: string,
): Promise<{ user_id: string; email: string; email_key: string }[]> =>
  db.all(
    `select users.id as user_id, users.email, users.email_key from sso_connections c
      join sso_identities i on i.connection_id = c.id join users on users.id = i.user_id
      where c.team_id = ? order by users.id`,
    [teamId],
  );
