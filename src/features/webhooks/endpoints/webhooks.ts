import { planNamed, type Config } from '../../../platform/config/index.ts';
import type { Executor, Page } from '../../../platform/db/index.ts';
import { refuse, notFound, invalidFields } from '../../../platform/refusal.ts';
import type { Store } from '../../../platform/store.ts';
import { lockTeam, type Ctx } from '../../../tenancy/access/index.ts';
import {
  countWebhooks,
  insertWebhook,
  findWebhook,
  lockWebhook,
  saveSettings,
  setDisabled,
  setEnabled,
  setSecret,
  markDeleted,
  listWebhookRows,
  type WebhookRow,
} from './webhooks.store.ts';
import {
  parkDue,
  countOutstanding,
  type Outstanding,
  type AttemptRow,
  type WebhookEventRow,
} from './webhook-events.store.ts';
import { isLocalHost } from '../../../platform/network/index.ts';
import { readHttpsUrl } from '../../../protocol/https-url.ts';
import type { SealedColumn } from '../../../platform/secrets/index.ts';
import { newWebhookSecret, webhookSecretBytes } from '../../../protocol/webhook-signature.ts';
import { publicEventId } from '../../../mail/events/index.ts';
import type { WebhookEventType } from '../../../contract/index.ts';
import { isoTime } from '../../../platform/clock.ts';
import { timeOfId } from '../../../platform/ids.ts';

type SecretColumns = Pick<WebhookRow, 'id' | 'secret_sealed' | 'previous_secret_sealed' | 'previous_secret_until'>;

const PURPOSE = 'webhook signing secret';
const SHOWN_CHARS = 4;

export const SEALED_WEBHOOK_SECRETS: readonly SealedColumn[] = [
  { table: 'webhooks', column: 'secret_sealed', purpose: PURPOSE },
  { table: 'webhooks', column: 'previous_secret_sealed', purpose: PURPOSE },
];

/** Returns a new secret of an endpoint, which is shown once, and its sealed form. */
export function newSigningSecret({ ids, secrets }: Store, webhookId: string): { secret: string; sealed: string } {
  const secret = newWebhookSecret(Buffer.from(ids.hex(webhookSecretBytes), 'hex'));
  return { secret, sealed: secrets.seal(secret, PURPOSE, webhookId) };
}

/**
 * Returns every secret that signs at `now`: the endpoint's own first, then the previous one until it expires. Throws if
 * its own cannot be opened; a previous one that cannot be opened is skipped, or a rotation would not fix what it is
 * made for.
 */
export function openSigningSecrets(store: Store, row: SecretColumns, now: number): string[] {
  const own = store.secrets.open(row.secret_sealed, PURPOSE, row.id);
  const { previous_secret_sealed: sealed, previous_secret_until: until } = row;
  const previous =
    sealed === null || until === null || until <= now ? undefined : openIfReadable(store, sealed, row.id);
  return previous === undefined ? [own] : [own, previous];
}

/**
 * Masks a secret, showing enough to distinguish two secrets: 24 of its 192 bits. Shows nothing of one that cannot be
 * opened, so that the remaining fields can still be returned.
 */
function maskSecret(store: Store, row: SecretColumns): string {
  return `whsec_****${(openIfReadable(store, row.secret_sealed, row.id) ?? '').slice(-SHOWN_CHARS)}`;
}

function openIfReadable({ secrets }: Store, sealed: string, webhookId: string): string | undefined {
  try {
    return secrets.open(sealed, PURPOSE, webhookId);
  } catch {
    // Altered, or sealed with the key of another installation.
    return undefined;
  }
}

/** Rows per statement: a queue may be long, and mail that is accepted meanwhile waits for one of these. */
const BATCH = 500;

/**
 * Stops an endpoint and parks its due events. Nothing is sent after the first statement; if the process ends before the
 * last one, the remaining events are parked by the `EndpointSender` that holds the endpoint, by `createWebhookRemoval`
 * of `features/installation/upkeep/remove-expired.ts`, or by a later call that enables the endpoint again. Returns
 * whether it was enabled before.
 */
export async function disableWebhook(store: Store, id: string, reason: 'manual' | 'failing'): Promise<boolean> {
  const isNew = await setDisabled(store.db, id, { reason, now: store.clock.now() });
  if (isNew) await parkWhatIsDue(store, id);
  return isNew;
}

/** Parks all due events; stops if the endpoint is enabled meanwhile, here or by another process. */
export async function parkWhatIsDue(store: Store, id: string): Promise<void> {
  while ((await parkDue(store.db, id, BATCH)) === BATCH);
}

const BOTH_SIGN_MS = 24 * 3_600_000;

/**
 * Replaces the secret. The new one is shown only now, and the previous one signs for another day. A second rotation
 * within a day ends the older secret at once: a team that rotates twice has reason to.
 */
export async function rotateWebhookSecret(
  ctx: Ctx,
  id: string,
): Promise<{ object: 'webhook'; id: string; signing_secret: string }> {
  const { store, teamId } = ctx;
  const { secret, sealed } = newSigningSecret(store, id);
  await store.db.tx(async (tx) => {
    const locked = await lockWebhook(tx, teamId, id);
    if (!locked) throw notFound('Webhook');
    const previousUntil = store.clock.now() + BOTH_SIGN_MS;
    await setSecret(tx, id, { sealed, previous: locked.secret_sealed, previousUntil });
  });
  return { object: 'webhook', id, signing_secret: secret };
}

const PATH = 'endpoint';

/**
 * Reads the address of an endpoint and checks its text; http is allowed only in the development profile, to a local
 * host.
 */
export function readEndpoint({ profile }: Pick<Config, 'profile'>, text: string): URL {
  const url =
    profile === 'development' && /^http:/i.test(text) ? readLocalUrl(text) : (textFault(text) ?? readHttpsUrl(text));
  if (typeof url !== 'string') return url;
  throw invalidFields([{ path: PATH, message: `${PATH} ${url}` }]);
}

function readLocalUrl(text: string): URL | string {
  const asHttps = text.replace(/^http:/i, 'https:');
  const url = textFault(asHttps) ?? readHttpsUrl(asHttps);
  if (typeof url === 'string') return url;
  if (isLocalHost(url.hostname)) return new URL(text);
  return 'must be an https URL, or an http URL of a local host such as http://localhost:4000/hooks.';
}

/** Reports text that URL parsers would fix or drop silently: it is stored as written, and parsed again. */
function textFault(text: string): string | undefined {
  if (text.includes('#')) return 'must be a URL without a fragment (#…).';
  // "https://a\@b/" is a path at a for some parsers and the host b for others.
  if (text.includes('\\')) return 'must be a URL without backslashes; in a path, write %5C.';
  if (/^https:\/\/[^\s/?]/i.test(text) && URL.canParse(text)) return undefined;
  if (/^http:/i.test(text))
    return 'must be an https URL. To get events on your own machine without an endpoint, use rasket webhooks listen.';
  return 'must be an absolute https URL such as https://example.com/hooks.';
}

export async function getWebhook(ctx: Ctx, id: string) {
  const row = await webhookNamed(ctx, id);
  return presentOne(ctx, row, await countOutstanding(ctx.store.db, [id]));
}

export async function listWebhooks(ctx: Ctx, page: Page, filter: { status?: WebhookRow['status'] | undefined } = {}) {
  const { store, teamId } = ctx;
  const { rows, hasMore } = await listWebhookRows(store.db, { teamId, status: filter.status }, page);
  const outstanding = await countOutstanding(
    store.db,
    rows.map(({ id }) => id),
  );
  const data = rows.map((row) => presentOne(ctx, row, outstanding));
  return { object: 'list' as const, has_more: hasMore, data };
}

const presentOne = ({ store }: Ctx, row: WebhookRow, outstanding: ReadonlyMap<string, Outstanding>) =>
  presentWebhook(store, row, outstanding.get(row.id) ?? { waiting: 0, parked: 0 });

export async function webhookNamed(ctx: Ctx, id: string): Promise<WebhookRow> {
  const row = await findWebhook(ctx.store.db, ctx.teamId, id);
  if (!row) throw notFound('Webhook');
  return row;
}

/** Deletes an endpoint at once for all callers; its rows, which may be millions, are removed in small batches later. */
export async function deleteWebhook(ctx: Ctx, id: string): Promise<{ object: 'webhook'; id: string; deleted: true }> {
  const { store, teamId } = ctx;
  if (!(await markDeleted(store.db, teamId, id, store.clock.now()))) throw notFound('Webhook');
  return { object: 'webhook', id, deleted: true };
}

export interface WebhookUpdate {
  endpoint?: string;
  events?: string[];
  status?: 'enabled' | 'disabled';
}

interface Reference {
  object: 'webhook';
  id: string;
}

/**
 * Changes an endpoint; fields that are not named keep their values. An endpoint that is enabled again receives events
 * from then on. The caller has connected to a new address already.
 */
export async function changeWebhook(ctx: Ctx, id: string, input: WebhookUpdate): Promise<Reference> {
  const { store, teamId } = ctx;
  const { endpoint, events, status } = input;
  const found = await findWebhook(store.db, teamId, id);
  if (!found) throw notFound('Webhook');
  // Runs before the endpoint is enabled: events that were due when it was disabled, and are not parked yet, would
  // otherwise be sent after all.
  if (status === 'enabled' && found.status === 'disabled') await parkWhatIsDue(store, id);
  await store.db.tx(async (tx) => {
    const locked = await lockWebhook(tx, teamId, id);
    if (!locked) throw notFound('Webhook');
    if (endpoint !== undefined || events !== undefined) {
      await saveSettings(tx, id, {
        endpoint: endpoint ?? locked.endpoint,
        events: events === undefined ? locked.events : JSON.stringify([...new Set(events)]),
      });
    }
    if (status === 'enabled' && locked.status === 'disabled') await setEnabled(tx, id);
    if (status === 'disabled') await setDisabled(tx, id, { reason: 'manual', now: store.clock.now() });
  });
  if (status === 'disabled') await parkWhatIsDue(store, id);
  return { object: 'webhook', id };
}

export interface NewWebhook {
  endpoint: string;
  events: string[];
}

/**
 * Adds an endpoint and returns the whole secret, as only a rotation does otherwise. The caller has checked the endpoint
 * and connected to it.
 */
export async function addWebhook(ctx: Ctx, input: NewWebhook) {
  const { store, teamId } = ctx;
  const id = store.ids.prefixed('wh_');
  const { secret, sealed } = newSigningSecret(store, id);
  const row: WebhookRow = {
    id,
    team_id: teamId,
    endpoint: input.endpoint,
    events: JSON.stringify([...new Set(input.events)]),
    status: 'enabled',
    secret_sealed: sealed,
    previous_secret_sealed: null,
    previous_secret_until: null,
    disabled_at: null,
    disabled_reason: null,
    failing_since: null,
    last_attempt_at: null,
    last_http_status: null,
    last_error: null,
    created_at: store.clock.now(),
  };
  await store.db.tx(async (tx) => {
    await mustAllowWebhook(store, tx, teamId);
    await insertWebhook(tx, row);
  });
  return presentWebhook(store, row, { waiting: 0, parked: 0 }, secret);
}

/** Throws if the plan of a team allows no further endpoint; checked again in the transaction that adds it. */
export async function mustAllowWebhook(store: Store, db: Executor, teamId: string): Promise<void> {
  const { webhook_endpoint_limit: limit } = planNamed(store.config, await lockTeam(db, teamId)).plan;
  const count = await countWebhooks(db, teamId);
  if (count < limit) return;
  throw refuse('validation_error', {
    status: 422,
    say: `The plan of this team allows ${limit} webhook endpoints, and it has ${count}; delete one first.`,
  });
}

/**
 * Formats an endpoint with its health and the number of outstanding events. The secret is masked unless it is passed
 * in, which only callers that have just made it do.
 */
function presentWebhook(
  store: Store,
  row: WebhookRow,
  { waiting, parked }: Outstanding,
  secret = maskSecret(store, row),
) {
  return {
    object: 'webhook' as const,
    id: row.id,
    endpoint: row.endpoint,
    events: JSON.parse(row.events) as WebhookEventType[],
    status: row.status,
    signing_secret: secret,
    created_at: isoTime(row.created_at),
    ...(row.disabled_at === null ? {} : { disabled_at: isoTime(row.disabled_at) }),
    ...(row.disabled_reason === null ? {} : { disabled_reason: row.disabled_reason }),
    last_attempt_at: timeOrNull(row.last_attempt_at),
    last_http_status: row.last_http_status,
    last_error: row.last_error,
    failing_since: timeOrNull(row.failing_since),
    events_waiting: waiting,
    events_parked: parked,
  };
}

const timeOrNull = (at: number | null): string | null => (at === null ? null : isoTime(at));

/**
 * Formats an event. Its time is that of the id, which the filters of the list use, unless the id runs ahead of the time
 * of the event.
 */
export function presentWebhookEvent(row: WebhookEventRow) {
  return {
    id: publicEventId(row.event_id),
    type: row.type,
    status: row.status,
    attempt_count: row.attempt_count,
    last_http_status: row.last_http_status,
    created_at: isoTime(Math.min(timeOfId(row.event_id), Number(row.created_at))),
    ...(row.is_test === 1 ? { test: true as const } : {}),
  };
}

export function presentAttempt(row: AttemptRow) {
  return {
    object: 'webhook_attempt' as const,
    id: row.id,
    attempt_number: row.attempt_number,
    http_status_code: row.http_status_code,
    response: row.response,
    error: row.error,
    duration_ms: row.duration_ms,
    sent_at: isoTime(row.sent_at),
  };
}
