import { uuidsIn, type Executor } from '../../platform/db/index.ts';

export interface ConnectionRow {
  id: string;
  team_id: string;
  issuer: string;
  client_id: string;
  /** Sealed with the instance key, bound to the id. */
  client_secret: string;
  enforced: number;
  default_role: 'viewer' | 'member';
  tested_at: number | null;
  created_at: number;
  updated_at: number;
  /** Time since which the provider fails; null while it does not. */
  failing_since: number | null;
  /** The last failure, also after it is over; the three are null before the first. */
  last_failure_at: number | null;
  last_failure_kind: FailureKind | null;
  last_failure: string | null;
}

/** `not_admitted`: the provider authenticated a person whom the team does not admit. */
export type FailureKind = 'provider_down' | 'provider_wrong' | 'not_admitted';

type StatusColumns = 'failing_since' | 'last_failure_at' | 'last_failure_kind' | 'last_failure';

const CONNECTION_COLUMNS = [
  'id',
  'team_id',
  'issuer',
  'client_id',
  'client_secret',
  'enforced',
  'default_role',
  'tested_at',
  'created_at',
  'updated_at',
] as const;

export const insertConnection = (tx: Executor, row: Omit<ConnectionRow, StatusColumns>): Promise<number> =>
  tx.insertMany('sso_connections', CONNECTION_COLUMNS, [CONNECTION_COLUMNS.map((column) => row[column])]);

export const findConnection = (db: Executor, teamId: string): Promise<ConnectionRow | undefined> =>
  db.get<ConnectionRow>('select * from sso_connections where team_id = ?', [teamId]);

export const connectionById = (db: Executor, id: string): Promise<ConnectionRow | undefined> =>
  db.get<ConnectionRow>('select * from sso_connections where id = ?', [id]);

interface Client {
  issuer: string;
  clientId: string;
}

/** Finds any connection that is this client of this provider; several teams may be. */
export const connectionOfClient = (db: Executor, { issuer, clientId }: Client): Promise<ConnectionRow | undefined> =>
  db.get<ConnectionRow>('select * from sso_connections where client_id = ? and issuer = ? order by id limit 1', [
    clientId,
    issuer,
  ]);

/**
 * Lists the connections of this client that know a subject of the provider or, if none is given, have a session that
 * began in the given session of the provider.
 */
export const connectionsOfLogout = (
  db: Executor,
  { issuer, clientId, subject, sidHash }: Client & { subject: string | undefined; sidHash: string | undefined },
): Promise<ConnectionRow[]> =>
  db.all<ConnectionRow>(
    `select * from sso_connections c where c.client_id = ? and c.issuer = ? and exists (${
      subject === undefined
        ? 'select 1 from sessions s where s.sso_team_id = c.team_id and s.sso_sid_hash = ?'
        : 'select 1 from sso_identities i where i.connection_id = c.id and i.subject = ?'
    }) order by c.id`,
    [clientId, issuer, subject ?? sidHash ?? ''],
  );

export async function listConnections(db: Executor, teamIds: readonly string[]): Promise<ConnectionRow[]> {
  if (teamIds.length === 0) return [];
  const among = uuidsIn(db.dialect, 'team_id', teamIds);
  return db.all<ConnectionRow>(`select * from sso_connections where ${among.sql}`, [among.value]);
}

type ConnectionChange = Pick<ConnectionRow, 'client_secret' | 'enforced' | 'default_role' | 'updated_at'>;

export const changeConnection = (tx: Executor, id: string, change: ConnectionChange): Promise<number> =>
  tx.run('update sso_connections set client_secret = ?, enforced = ?, default_role = ?, updated_at = ? where id = ?', [
    change.client_secret,
    change.enforced,
    change.default_role,
    change.updated_at,
    id,
  ]);

/**
 * `discovery`: reading the provider's metadata, which we do on our own; `exchange`: completing the sign-in of a person.
 */
export type ProviderStep = 'discovery' | 'exchange';

interface NotedFault {
  kind: 'down' | 'wrong';
  step: ProviderStep;
  says: string;
}

/** Notes a fault. The time of the first fault stays, whatever else fails later. */
export const noteProviderFault = (
  db: Executor,
  id: string,
  { kind, step, says, at }: NotedFault & { at: number },
): Promise<number> =>
  db.run(
    `update sso_connections set failing_since = coalesce(failing_since, ?), fault_kind = ?, fault_step = ?, fault = ?,
        last_failure_at = ?, last_failure_kind = ?, last_failure = ?
      where id = ?`,
    [at, kind, step, says, at, kind === 'down' ? 'provider_down' : 'provider_wrong', says, id],
  );

/** Notes that a person was not admitted, which says nothing about the state of the provider. */
export const noteNotAdmitted = (
  db: Executor,
  id: string,
  { says, at }: { says: string; at: number },
): Promise<number> =>
  db.run(
    `update sso_connections set last_failure_at = ?, last_failure_kind = 'not_admitted', last_failure = ? where id = ?`,
    [at, says, id],
  );

/**
 * Clears a fault, if given only that of one step: a provider whose metadata can be read may still fail to sign people
 * in.
 */
export const clearProviderFault = (db: Executor, id: string, step?: ProviderStep): Promise<number> =>
  db.run(
    `update sso_connections set failing_since = null, fault_kind = null, fault_step = null, fault = null
      where id = ? and failing_since is not null ${step === undefined ? '' : 'and fault_step = ?'}`,
    step === undefined ? [id] : [id, step],
  );

/** Lists the connections through which people can sign in, page by page in the order of their ids. */
export const connectionsInUse = (db: Executor, after: string | null, limit: number): Promise<ConnectionRow[]> =>
  db.all<ConnectionRow>(
    `select * from sso_connections c where exists (select 1 from sso_domains d
        where d.team_id = c.team_id and d.verified_at is not null)
      ${after === null ? '' : 'and id > ?'} order by id limit ?`,
    after === null ? [limit] : [after, limit],
  );

export const stopEnforcing = (tx: Executor, teamId: string, now: number): Promise<number> =>
  tx.run('update sso_connections set enforced = 0, updated_at = ? where team_id = ? and enforced = 1', [now, teamId]);

export const noteTested = (tx: Executor, id: string, now: number): Promise<number> =>
  tx.run('update sso_connections set tested_at = ? where id = ? and tested_at is null', [now, id]);

/** Removes a connection with its identities. */
export const removeConnection = (tx: Executor, id: string): Promise<number> =>
  tx.run('delete from sso_connections where id = ?', [id]);

export const isEnforced = async (db: Executor, teamId: string): Promise<boolean> =>
  (await findConnection(db, teamId))?.enforced === 1;

export interface SsoDomainRow {
  id: string;
  team_id: string;
  domain: string;
  proof: string;
  /** One sentence about what is wrong; null if nothing is. */
  diagnosis: string | null;
  verified_at: number | null;
  /** Time at which the DNS result last changed: the diagnosis has been the same since. 0 before the first check. */
  checked_at: number;
  created_at: number;
  /** Time at which it ceased to be proven; null while it is, or never was. */
  lost_at: number | null;
}

const DOMAIN_COLUMNS = [
  'id',
  'team_id',
  'domain',
  'proof',
  'diagnosis',
  'verified_at',
  'checked_at',
  'created_at',
] as const;

export const insertSsoDomain = (tx: Executor, row: Omit<SsoDomainRow, 'lost_at'>): Promise<number> =>
  tx.insertMany('sso_domains', DOMAIN_COLUMNS, [DOMAIN_COLUMNS.map((column) => row[column])]);

export const listSsoDomains = (db: Executor, teamId: string): Promise<SsoDomainRow[]> =>
  db.all<SsoDomainRow>('select * from sso_domains where team_id = ? order by domain', [teamId]);

export async function listProvenDomains(
  db: Executor,
  teamIds: readonly string[],
): Promise<Pick<SsoDomainRow, 'team_id' | 'domain'>[]> {
  if (teamIds.length === 0) return [];
  const among = uuidsIn(db.dialect, 'team_id', teamIds);
  const sql = `select team_id, domain from sso_domains where ${among.sql} and verified_at is not null order by domain`;
  return db.all(sql, [among.value]);
}

export const findSsoDomain = (db: Executor, teamId: string, domain: string): Promise<SsoDomainRow | undefined> =>
  db.get<SsoDomainRow>('select * from sso_domains where team_id = ? and domain = ?', [teamId, domain]);

export const ownerOfDomain = (db: Executor, domain: string): Promise<SsoDomainRow | undefined> =>
  db.get<SsoDomainRow>('select * from sso_domains where domain = ? and verified_at is not null', [domain]);

/** Finds the provider through which the addresses of a domain sign in. */
export const connectionOfDomain = (db: Executor, domain: string): Promise<ConnectionRow | undefined> =>
  db.get<ConnectionRow>(
    `select c.* from sso_domains d join sso_connections c on c.team_id = d.team_id
      where d.domain = ? and d.verified_at is not null`,
    [domain],
  );

export const saveDomainCheck = (
  tx: Executor,
  id: string,
  check: Pick<SsoDomainRow, 'diagnosis' | 'verified_at' | 'checked_at'>,
): Promise<number> =>
  tx.run(
    `update sso_domains set diagnosis = ?, verified_at = ?, checked_at = ?${check.verified_at === null ? '' : ', lost_at = null'}
      where id = ?`,
    [check.diagnosis, check.verified_at, check.checked_at, id],
  );

export const provenDomains = (db: Executor): Promise<SsoDomainRow[]> =>
  db.all<SsoDomainRow>('select * from sso_domains where verified_at is not null order by id');

/** Marks a domain as no longer proven; returns false if it was not proven before. */
export const loseProof = async (tx: Executor, id: string, lost: { diagnosis: string; at: number }): Promise<boolean> =>
  (await tx.run(
    `update sso_domains set verified_at = null, diagnosis = ?, checked_at = ?, lost_at = ?
      where id = ? and verified_at is not null`,
    [lost.diagnosis, lost.at, lost.at, id],
  )) === 1;

export const removeSsoDomain = (tx: Executor, id: string): Promise<number> =>
  tx.run('delete from sso_domains where id = ?', [id]);

export const removeSsoDomains = (tx: Executor, teamId: string): Promise<number> =>
  tx.run('delete from sso_domains where team_id = ?', [teamId]);

export interface IdentityRow {
  id: string;
  connection_id: string;
  user_id: string;
  subject: string | null;
  created_at: number;
}

const IDENTITY_COLUMNS = ['id', 'connection_id', 'user_id', 'subject', 'created_at'] as const;

export const insertIdentity = (tx: Executor, row: IdentityRow): Promise<number> =>
  tx.insertMany('sso_identities', IDENTITY_COLUMNS, [IDENTITY_COLUMNS.map((column) => row[column])]);

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

/** Lists the people that the provider of a team knows, with their addresses in both forms. */
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

/** Notes the provider's response to a sign-in; returns false if there was one before. */
export async function noteAnswer(tx: Executor, stateHash: string, now: number): Promise<boolean> {
  const sql = 'insert into sso_answers (state_hash, at) values (?, ?) on conflict (state_hash) do nothing';
  return (await tx.run(sql, [stateHash, now])) === 1;
}

export const hasAnswer = async (db: Executor, stateHash: string): Promise<boolean> =>
  (await db.get('select at from sso_answers where state_hash = ?', [stateHash])) !== undefined;

export const removeAnswersBefore = (db: Executor, before: number): Promise<number> =>
  db.run('delete from sso_answers where at <= ?', [before]);
