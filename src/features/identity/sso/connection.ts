import type { PutSsoRequest } from '../../../contract/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { invalidField, notFound, refuse } from '../../../platform/refusal/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { countExemptOwners, lockPeople, mustBeOwnTeam } from '../../../tenancy/members/index.ts';
import { endSsoSessions } from '../../../tenancy/session-rows/index.ts';
import {
  changeConnection,
  clearProviderFault,
  findConnection,
  insertConnection,
  provenDomainsOf,
  removeConnection,
  removeSsoDomainsOf,
  SEALED_SSO_SECRETS,
  type ConnectionRow,
} from '../../../tenancy/sso-rows/index.ts';
import { endWhatSsoBegan } from './end-what-it-began.ts';
import { readIssuer } from './issuer.ts';
import { presentConnection, START_PATH } from './present.ts';

export async function getSso(ctx: Ctx, named: string) {
  mustBeOwnTeam(ctx, named);
  const row = await findConnection(ctx.store.db, ctx.teamId);
  if (!row) throw noConnection();
  return presentConnection(ctx.store, ctx.store.db, row);
}

export async function putSso(ctx: Ctx, named: string, input: PutSsoRequest) {
  mustBeOwnTeam(ctx, named);
  const { store, teamId } = ctx;
  const issuer = readIssuer(input.issuer, store.config.sso.allow_private);
  return store.db.tx(async (tx) => {
    await lockAsOwner(tx, ctx);
    const before = await findConnection(tx, teamId);
    const isSame = before?.issuer === issuer && before.client_id === input.client_id;
    const row = isSame ? changed(store, before, input) : made(store, teamId, { ...input, issuer });
    if (isSame) await changeConnection(tx, row.id, row);
    // What failed may have been what is changed now.
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
    await endWhatSsoBegan(tx, ctx.store, ctx.teamId, { by: 'user' });
    await removeConnection(tx, row.id);
    await removeSsoDomainsOf(tx, ctx.teamId);
    await endSsoSessions(tx, ctx.teamId);
    return { object: 'sso_connection' as const, deleted: true as const };
  });
}

/** The role is asked again behind the lock: it may have been taken away meanwhile. */
export async function lockAsOwner(tx: Executor, ctx: Ctx): Promise<void> {
  const { role } = await lockPeople(tx, ctx);
  if (role === 'owner') return;
  throw refuse('invalid_permission', { say: 'Only an owner changes the single sign-on of a team.' });
}

export const noConnection = () => notFound('Single sign-on');

function changed(store: Store, before: ConnectionRow, input: PutSsoRequest): ConnectionRow {
  const { client_secret: secret, enforced = false, default_role = 'member' } = input;
  return {
    ...before,
    client_secret: secret === undefined ? before.client_secret : sealed(store, secret, before.id),
    ...{ enforced: enforced ? 1 : 0, default_role, updated_at: store.clock.now() },
  };
}

function made(store: Store, teamId: string, input: PutSsoRequest): ConnectionRow {
  const { issuer, client_id, client_secret: secret, enforced = false, default_role = 'member' } = input;
  if (secret === undefined) {
    throw invalidField('client_secret', 'client_secret is required for a connection to another issuer or client.');
  }
  const [id, now] = [store.ids.uuid(), store.clock.now()];
  return {
    ...{ id, team_id: teamId, issuer, client_id, client_secret: sealed(store, secret, id) },
    ...{ enforced: enforced ? 1 : 0, default_role, tested_at: null, created_at: now, updated_at: now },
    failing_since: null,
  };
}

const sealed = ({ secrets }: Store, secret: string, id: string): string =>
  secrets.seal(secret, SEALED_SSO_SECRETS.purpose, id);

/** What another provider says of people is nothing that the former one has said. */
async function replace(
  tx: Executor,
  store: Store,
  { before, row }: { before: ConnectionRow | undefined; row: ConnectionRow },
): Promise<void> {
  if (before) await endWhatSsoBegan(tx, store, row.team_id, { by: 'user' });
  if (before) await removeConnection(tx, before.id);
  if (before) await endSsoSessions(tx, row.team_id);
  await insertConnection(tx, row);
}

/** Asked behind the change. What is refused is rolled back. */
async function mustBeReady(tx: Executor, store: Store, row: ConnectionRow): Promise<void> {
  const proven = await provenDomainsOf(tx, [row.team_id]);
  const missing = [
    proven.length === 0 && 'no domain is proven; add one to it and verify it',
    row.tested_at === null &&
      `nobody has signed in through this connection; sign in once at ${store.origin()}${START_PATH}`,
    (await countExemptOwners(tx, row.team_id)) === 0 &&
      'no owner who has a password is exempt (sso_exempt), so that nobody could sign in when the provider does not answer',
  ].filter((one) => one !== false);
  if (missing.length === 0) return;
  throw refuse('resource_locked', { say: `Single sign-on cannot be enforced yet: ${missing.join('; and ')}.` });
}
