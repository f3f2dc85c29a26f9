import { defineHook } from '../../platform/hook.ts';
import type { CreateApiKeyRequest } from '../../contract/index.ts';
import { invalidFields, refuse, notFound } from '../../platform/refusal.ts';
import { readKeyId, type Ctx, type Permission, type Actor, type Identity } from '../access/index.ts';
import type { Executor, Page } from '../../platform/db/index.ts';
import { hashToken, newToken } from '../../platform/secrets/index.ts';
import type { Store } from '../../platform/store.ts';
import {
  insertApiKey,
  listKeyRows,
  renameKey,
  revokeKey,
  activateKey,
  findByTokenHash,
  revokeNamedToken,
  findKeyStatus,
  noteUse,
  type ApiKeyRow,
  type KeyFilter,
  type Credential,
  type KeyUse,
} from './api-keys.store.ts';
import { isoTime } from '../../platform/clock.ts';
import { BoundedMap } from '../../platform/limits/index.ts';

const PREFIX = 'rk_';
const SHOWN_CHARS = 10;

/** Makes a key inside the caller's transaction; the rules are the caller's. */
export async function issueApiKey(
  store: Store,
  tx: Executor,
  input: { teamId: string; name: string; permission: Permission; domainId: string | null; token?: string },
): Promise<{ id: string; token: string }> {
  const token = input.token ?? newToken(PREFIX);
  const id = store.ids.uuid();
  const row = {
    id,
    team_id: input.teamId,
    name: input.name,
    key_prefix: token.slice(0, SHOWN_CHARS),
    permission: input.permission,
    domain_id: input.domainId,
    status: 'active' as const,
    created_at: store.clock.now(),
  };
  await insertApiKey(tx, row, hashToken(token));
  return { id, token };
}

/** Short ones are for tests and offer no protection; the upper bound is a line of a file. */
const FORM = /^rk_[A-Za-z0-9_-]{2,120}$/;

/** The name of every chosen key. A person may give it to other keys, so it alone does not identify a chosen key. */
const NAME = 'RASKET_DEV_API_KEY';

/** Returns why a key that a person chose cannot be used; undefined if it can. */
export function findFixedKeyFault(token: string): string | undefined {
  if (FORM.test(token)) return undefined;
  if (token.startsWith('re_')) return 'it is a Resend key; keys of this server begin with rk_, such as rk_test';
  return 'it must be rk_ followed by 2 to 120 letters, digits, _ or -, such as rk_test';
}

/**
 * Makes a key that a person chose valid, with full access to a team; one that was revoked becomes valid again. Returns
 * its team, which may be another one if the key was made for that. `earlier` is the key of the last start, and is
 * revoked if it was chosen too. For the development profile alone: a chosen key can be guessed.
 */
export async function keepFixedKey(
  store: Store,
  { teamId, token, earlier }: { teamId: string; token: string; earlier?: string | undefined },
): Promise<string> {
  if (store.config.profile !== 'development') throw new Error('fixed API key outside the development profile');
  const fault = findFixedKeyFault(token);
  if (fault !== undefined) throw new Error(`fixed API key with a wrong form: ${fault}`);
  return store.db.tx(async (tx) => {
    if (earlier !== undefined && earlier !== token) await revokeNamedToken(tx, hashToken(earlier), NAME);
    const found = await findByTokenHash(tx, hashToken(token));
    if (found) {
      if (found.status !== 'active') await activateKey(tx, found.id);
      return found.team_id;
    }
    await issueApiKey(store, tx, { teamId, name: NAME, permission: 'full_access', domainId: null, token });
    return teamId;
  });
}

/** The identity of a key, which always belongs to a team. */
type KeyIdentity = Identity<Extract<Actor, { kind: 'api_key' }>> & { teamId: string };
type Authenticate = (token: string) => Promise<KeyIdentity>;

const KEY_OF_RESEND =
  'This is a Resend API key (re_…); keys of this server begin with rk_. Create one with: rasket api-keys create NAME';

/**
 * Creates the check of keys. A revoked key is refused by the very next request: a cached key lasts only until keys or
 * teams are written.
 */
export function createAuthentication(store: Store): Authenticate {
  const findKey = store.db.memo(['api_keys', 'teams'], (tokenHash) => findByTokenHash(store.db, tokenHash));
  return async (token) => {
    // A program that has moved from Resend may still have its former key.
    if (token.startsWith('re_')) throw refuse('invalid_api_key', { say: KEY_OF_RESEND });
    return toCaller(await findKey(hashToken(token)));
  };
}

function toCaller(key: Credential | undefined): KeyIdentity {
  if (!key) throw refuse('invalid_api_key', { say: 'The API key is not valid.' });
  if (key.status === 'revoked') {
    throw refuse('restricted_api_key', { status: 403, say: 'This API key has been revoked.' });
  }
  if (key.status === 'suspended' || key.risk_state === 'suspended') {
    throw refuse('suspended_api_key', { say: 'This API key or its team is suspended.' });
  }
  return {
    teamId: key.team_id,
    actor: { kind: 'api_key', keyId: key.id, permission: key.permission, domainId: key.domain_id },
  };
}

const REFRESH_MS = 60_000;
const KEYS_REMEMBERED_MAX = 10_000;

/**
 * Records when a key was last used and for which request, if that is logged; written at most once a minute for a key,
 * and never waited for.
 */
export function createKeyUse(store: Store): (keyId: string, requestId: string | null) => void {
  const written = new BoundedMap<string, number>(KEYS_REMEMBERED_MAX);
  const write = store.commits.lane<KeyUse, void>(async (tx, uses) => {
    const now = store.clock.now();
    await noteUse(tx, [...new Map(uses.map((use) => [use.keyId, use])).values()], now, now - REFRESH_MS);
    return uses.map(() => undefined);
  });
  // A request that is not logged has no entry to point to.
  const { enabled: isLogged } = store.config.logs;
  return (keyId, requestId) => {
    const now = store.clock.now();
    const last = written.get(keyId);
    if (last !== undefined && now - last < REFRESH_MS) return;
    written.set(keyId, now);
    write({ keyId, requestLogId: isLogged ? requestId : null }).catch((error: unknown) =>
      store.log.warn({ err: error, keyId }, 'could not record the use of a key'),
    );
  };
}

/** Reports whether the key of a call would still be accepted: for calls that last, such as streams. */
export async function keyLives({ db }: Store, actor: Actor): Promise<boolean> {
  const keyId = readKeyId(actor);
  if (keyId === null) return true;
  const key = await findKeyStatus(db, keyId);
  return key?.status === 'active' && key.risk_state !== 'suspended';
}

/** Reports whether a token belongs to a key that is not revoked, regardless of whether its team may send. */
export const isActiveToken = async ({ db }: Store, token: string): Promise<boolean> =>
  (await findByTokenHash(db, hashToken(token)))?.status === 'active';

/** Revokes a key at once and for good; the row stays. A key that was revoked before counts as not found. */
export async function deleteApiKey(ctx: Ctx, id: string): Promise<{ object: 'api_key'; id: string; deleted: true }> {
  if ((await revokeKey(ctx.store.db, ctx.teamId, id)) === 0) throw notFound('API key');
  return { object: 'api_key', id, deleted: true };
}

export async function updateApiKey(
  ctx: Ctx,
  id: string,
  input: { name: string },
): Promise<{ object: 'api_key'; id: string }> {
  if ((await renameKey(ctx.store.db, ctx.teamId, id, input.name)) === 0) throw notFound('API key');
  return { object: 'api_key', id };
}

export async function listApiKeys(
  ctx: Ctx,
  filter: KeyFilter,
  page: Page,
): Promise<{ object: 'list'; has_more: boolean; data: ReturnType<typeof presentApiKey>[] }> {
  if (filter.search !== undefined && filter.search.trim() === '') {
    throw refuse('invalid_parameter', { say: 'search must contain something other than spaces.' });
  }
  const { rows, hasMore } = await listKeyRows(ctx.store.db, ctx.teamId, filter, page);
  return { object: 'list', has_more: hasMore, data: rows.map((row: ApiKeyRow) => presentApiKey(row)) };
}

function presentApiKey(row: ApiKeyRow) {
  return {
    id: row.id,
    name: row.name,
    created_at: isoTime(row.created_at),
    last_used_at: row.last_used_at === null ? null : isoTime(row.last_used_at),
    permission: row.permission,
    ...(row.domain_id === null ? {} : { domain_id: row.domain_id }),
    key_prefix: row.key_prefix,
    status: row.status,
    last_used_request_log_id: row.last_used_request_log_id,
  };
}

/** Reports whether a team has a verified domain of this id. */
export const isVerifiedDomain =
  defineHook<(tx: Executor, teamId: string, domainId: string) => Promise<boolean>>('isVerifiedDomain');

export async function createApiKey(ctx: Ctx, input: CreateApiKeyRequest) {
  const permission = input.permission ?? 'full_access';
  // The letter case of a UUID means nothing (RFC 9562 §4); SQLite compares it as text.
  const domainId = input.domain_id?.toLowerCase() ?? null;
  if (domainId !== null && permission === 'full_access') {
    const message =
      'domain_id can only be used with permission sending_access; a full_access key can use every domain.';
    throw invalidFields([{ path: 'domain_id', message }]);
  }
  return ctx.store.db.tx(async (tx) => {
    if (domainId !== null) {
      if (!(await isVerifiedDomain.call(tx, ctx.teamId, domainId))) {
        throw refuse('validation_error', {
          status: 422,
          say: `domain_id must be the id of a verified domain of this team; got ${domainId}.`,
          errors: [{ path: 'domain_id', message: 'domain_id must be the id of a verified domain of this team.' }],
        });
      }
    }
    const issued = await issueApiKey(ctx.store, tx, { teamId: ctx.teamId, name: input.name, permission, domainId });
    return { object: 'api_key' as const, ...issued };
  });
}
