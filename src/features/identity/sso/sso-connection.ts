import type { PutSsoRequest } from '../../../contract/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { invalidField, notFound, refuse } from '../../../platform/refusal.ts';
import type { Store } from '../../../platform/store.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import {
  countExemptOwners,
  lockPeople,
  mustBeOwnTeam,
  findMember,
  mustRule,
  presentMember,
} from '../../../tenancy/members/index.ts';
import { endSsoSessions } from '../../../tenancy/session-rows/index.ts';
import {
  changeConnection,
  clearProviderFault,
  findConnection,
  insertConnection,
  listProvenDomains,
  removeConnection,
  removeSsoDomains,
  SEALED_SSO_SECRETS,
  removeIdentity,
  stopEnforcing,
  peopleOfSso,
  listSsoDomains,
  deriveSsoStatus,
  type ConnectionRow,
  type SsoDomainRow,
} from '../../../tenancy/sso-rows/index.ts';
import { findNamedTeam, type TeamRow } from '../../../tenancy/teams/index.ts';
import { revokeGrantsInTeam } from '../oauth/grants.ts';
import { createAddressGuard, createRangeCheck } from '../../../platform/network/index.ts';
import { readHttpsUrl } from '../../../protocol/https-url.ts';
import { isoTime } from '../../../platform/clock.ts';

const isLoopback = createRangeCheck(['127.0.0.0/8', '::1/128']);

/** The URL parser has already converted every spelling of an IPv4 address to four decimal numbers. */
const isAddress = (host: string): boolean => host.includes(':') || /^\d+(\.\d+){3}$/.test(host);

const extractHost = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '');

/**
 * Reads the URL of any endpoint of a provider: https, or http on the machine itself. Returns an error message if it is
 * not allowed.
 */
export function readProviderUrl(text: string): URL | string {
  const url = URL.parse(text);
  if (url?.protocol !== 'http:') return readHttpsUrl(text);
  const host = extractHost(url);
  if (!isAddress(host) || !isLoopback(host))
    return 'must be an https URL; http is only allowed for 127.0.0.1 and [::1].';
  const asHttps = readHttpsUrl(text.replace(/^http:/i, 'https:'));
  return typeof asHttps === 'string' ? asHttps : url;
}

/** Path of the discovery document. Many providers give out this address instead of their issuer. */
const DISCOVERY = '/.well-known/openid-configuration';

/** Reads an issuer. The text stays as it is, because it must match the provider's responses letter by letter. */
function readIssuer(text: string, allowPrivate: readonly string[]): string {
  const url = readProviderUrl(text);
  if (typeof url === 'string') throw invalidField('issuer', `issuer ${url}`);
  if (url.search !== '' || text.includes('#')) {
    throw invalidField('issuer', 'issuer must be a URL without a query and without a fragment.');
  }
  if (url.pathname.endsWith(DISCOVERY)) {
    throw invalidField('issuer', `issuer must not include ${DISCOVERY}; send ${text.slice(0, -DISCOVERY.length)}.`);
  }
  const host = extractHost(url);
  if (isAddress(host) && !createAddressGuard([...allowPrivate])(host)) {
    throw invalidField(
      'issuer',
      `issuer is at ${host}, a private address; the operator can allow it with sso.allow_private.`,
    );
  }
  return text;
}

export const CALLBACK_PATH = '/auth/sso/callback';
export const START_PATH = '/auth/sso/start';
/** The path of `endProviderSession` in the contract. */
const LOGOUT_PATH = '/auth/sso/backchannel-logout';

/** Returns the redirect address, which is the same for all connections: an attempt knows its connection. */
export const buildRedirectUri = ({ origin }: Pick<Store, 'origin'>): string => origin() + CALLBACK_PATH;

async function presentConnection(store: Store, db: Executor, row: ConnectionRow) {
  const domains = await listSsoDomains(db, row.team_id);
  const proven = domains.filter((domain) => domain.verified_at !== null).length;
  return {
    object: 'sso_connection' as const,
    status: deriveSsoStatus(row, proven),
    issuer: row.issuer,
    client_id: row.client_id,
    enforced: row.enforced === 1,
    default_role: row.default_role,
    redirect_uri: buildRedirectUri(store),
    backchannel_logout_uri: store.origin() + LOGOUT_PATH,
    domains: domains.map(presentSsoDomain),
    tested_at: row.tested_at === null ? null : isoTime(row.tested_at),
    failing_since: row.failing_since === null ? null : isoTime(row.failing_since),
    last_failure: presentFailure(row),
    created_at: isoTime(row.created_at),
  };
}

function presentFailure({ last_failure_at: at, last_failure_kind: kind, last_failure: reason }: ConnectionRow) {
  return at === null || kind === null || reason === null ? null : { at: isoTime(at), kind, reason };
}

export const buildProofName = (domain: string): string => `_rasket-sso.${domain}`;

export const presentSsoDomain = (row: Omit<SsoDomainRow, 'lost_at'>) => ({
  object: 'sso_domain' as const,
  domain: row.domain,
  status: row.verified_at === null ? ('pending' as const) : ('verified' as const),
  record: { type: 'TXT' as const, name: buildProofName(row.domain), value: row.proof },
  diagnosis: row.diagnosis,
  verified_at: row.verified_at === null ? null : isoTime(row.verified_at),
  created_at: isoTime(row.created_at),
});

/**
 * Stops enforcing single sign-on from the command line, for a team whose members can no longer sign in. The connection
 * remains.
 */
export async function stopEnforcingSso(store: Store, slugOrId: string): Promise<TeamRow> {
  const team = await findNamedTeam(store.db, slugOrId);
  if (!team) throw notFound(`Team ${JSON.stringify(slugOrId)}`);
  const count = await store.db.tx((tx) => stopEnforcing(tx, team.id, store.clock.now()));
  if (count === 1) return team;
  throw refuse('validation_error', { status: 422, say: `The team ${team.slug} does not enforce single sign-on.` });
}

/** Unlinks a member. The next sign-in through the provider links the person again, by the address. */
export async function unlinkTeamMember(ctx: Ctx, place: { teamId: string; memberId: string }) {
  mustBeOwnTeam(ctx, place.teamId);
  return ctx.store.db.tx(async (tx) => {
    const caller = await lockPeople(tx, ctx);
    const member = await findMember(tx, ctx.teamId, place.memberId);
    if (!member) throw notFound('Member');
    mustRule(caller.role, 'change', [member.role]);
    const connection = await findConnection(tx, ctx.teamId);
    if (!connection) throw noConnection();
    await endSsoSessions(tx, ctx.teamId, member.user_id);
    const isConcerned = ({ user_id: id }: { user_id: string }) => id === member.user_id;
    await endSsoAccess(tx, ctx.store, ctx.teamId, { isConcerned, by: 'user' });
    await removeIdentity(tx, connection.id, member.user_id);
    return presentMember(member);
  });
}

export async function getSso(ctx: Ctx, named: string) {
  mustBeOwnTeam(ctx, named);
  const row = await findConnection(ctx.store.db, ctx.teamId);
  if (!row) throw noConnection();
  return presentConnection(ctx.store, ctx.store.db, row);
}

/**
 * Sets up or changes a connection. `mustAnswer` tries the discovery of a provider; only a new connection needs it, so
 * that an owner can also change the other settings, such as `enforced`, while the provider does not respond.
 */
export async function putSso(
  ctx: Ctx,
  named: string,
  { input, mustAnswer }: { input: PutSsoRequest; mustAnswer: (issuer: string) => Promise<void> },
) {
  mustBeOwnTeam(ctx, named);
  const { store, teamId } = ctx;
  const issuer = readIssuer(input.issuer, store.config.sso.allow_private);
  const isThis = (row: ConnectionRow | undefined): row is ConnectionRow =>
    row?.issuer === issuer && row.client_id === input.client_id;
  if (!isThis(await findConnection(store.db, teamId))) {
    mustHaveSecret(input);
    await mustAnswer(issuer);
  }
  return store.db.tx(async (tx) => {
    await lockAsOwner(tx, ctx);
    const before = await findConnection(tx, teamId);
    const isSame = isThis(before);
    const row = isSame ? changed(store, before, input) : made(store, teamId, { ...input, issuer });
    if (isSame) await changeConnection(tx, row.id, row);
    // The change may have fixed the fault.
    if (isSame) await clearProviderFault(tx, row.id);
    else await replace(tx, store, { before, row });
    if (row.enforced === 1) await mustBeReady(tx, store, row);
    return presentConnection(store, tx, row);
  });
}

export async function deleteSso(ctx: Ctx, named: string) {
  mustBeOwnTeam(ctx, named);
  return ctx.store.db.tx(async (tx) => {
    await lockAsOwner(tx, ctx);
    const row = await findConnection(tx, ctx.teamId);
    if (!row) throw noConnection();
    await endSsoAccess(tx, ctx.store, ctx.teamId, { by: 'user' });
    await removeConnection(tx, row.id);
    await removeSsoDomains(tx, ctx.teamId);
    await endSsoSessions(tx, ctx.teamId);
    return { object: 'sso_connection' as const, deleted: true as const };
  });
}

/**
 * Locks the team and throws unless the caller is an owner. The role is read after locking, because it may have been
 * taken away meanwhile.
 */
export async function lockAsOwner(tx: Executor, ctx: Ctx): Promise<void> {
  const { role } = await lockPeople(tx, ctx);
  if (role === 'owner') return;
  throw refuse('invalid_permission', { say: 'Only an owner can change the single sign-on of a team.' });
}

export const noConnection = () => notFound('Single sign-on');

function changed(store: Store, before: ConnectionRow, input: PutSsoRequest): ConnectionRow {
  const { client_secret: secret, enforced = false, default_role = 'member' } = input;
  return {
    ...before,
    client_secret: secret === undefined ? before.client_secret : sealed(store, secret, before.id),
    enforced: enforced ? 1 : 0,
    default_role,
    updated_at: store.clock.now(),
  };
}

function made(store: Store, teamId: string, input: PutSsoRequest): ConnectionRow {
  const { issuer, client_id, enforced = false, default_role = 'member' } = input;
  const secret = mustHaveSecret(input);
  const id = store.ids.uuid();
  const now = store.clock.now();
  return {
    id,
    team_id: teamId,
    issuer,
    client_id,
    client_secret: sealed(store, secret, id),
    enforced: enforced ? 1 : 0,
    default_role,
    tested_at: null,
    created_at: now,
    updated_at: now,
    failing_since: null,
    last_failure_at: null,
    last_failure_kind: null,
    last_failure: null,
  };
}

function mustHaveSecret({ client_secret: secret }: PutSsoRequest): string {
  if (secret !== undefined) return secret;
  throw invalidField(
    'client_secret',
    'client_secret is required for a new connection, and when issuer or client_id changes.',
  );
}

const sealed = ({ secrets }: Store, secret: string, id: string): string =>
  secrets.seal(secret, SEALED_SSO_SECRETS.purpose, id);

/** Replaces a connection. A new provider does not inherit the identities of the previous one. */
async function replace(
  tx: Executor,
  store: Store,
  { before, row }: { before: ConnectionRow | undefined; row: ConnectionRow },
): Promise<void> {
  if (before) await endSsoAccess(tx, store, row.team_id, { by: 'user' });
  if (before) await removeConnection(tx, before.id);
  if (before) await endSsoSessions(tx, row.team_id);
  await insertConnection(tx, row);
}

/** Throws if single sign-on cannot be enforced yet. Called after the change, which is then rolled back. */
async function mustBeReady(tx: Executor, store: Store, row: ConnectionRow): Promise<void> {
  const proven = await listProvenDomains(tx, [row.team_id]);
  const missing = [
    proven.length === 0 && 'no domain is verified; add one and verify it',
    row.tested_at === null &&
      `nobody has signed in through this connection; sign in once at ${store.origin()}${START_PATH}`,
    (await countExemptOwners(tx, row.team_id)) === 0 &&
      'no owner with a password is exempt (sso_exempt), so nobody could sign in while the provider is down',
  ].filter((one) => one !== false);
  if (missing.length === 0) return;
  throw refuse('resource_locked', { say: `Single sign-on cannot be enforced yet: ${missing.join('; and ')}.` });
}

type Known = Awaited<ReturnType<typeof peopleOfSso>>[number];

/**
 * Ends what people authenticated by the provider have begun: sessions that began through it, and grants they gave to
 * apps for the team. Must run before the identities are removed.
 */
export async function endSsoAccess(
  tx: Executor,
  { clock }: Pick<Store, 'clock'>,
  teamId: string,
  { isConcerned = () => true, by }: { isConcerned?: (person: Known) => boolean; by: 'user' | 'operator' },
): Promise<void> {
  for (const person of (await peopleOfSso(tx, teamId)).filter(isConcerned)) {
    const userId = person.user_id;
    await endSsoSessions(tx, teamId, userId);
    await revokeGrantsInTeam(tx, { userId, teamId }, { at: clock.now(), reason: by });
  }
}
