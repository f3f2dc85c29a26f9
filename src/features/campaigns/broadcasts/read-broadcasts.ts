import type { QueryOf } from '../../../contract/index.ts';
import type { Page } from '../../../platform/db/index.ts';
import { notFound, refuse } from '../../../platform/refusal.ts';
import type { Store } from '../../../platform/store.ts';
import { foldText, listPropertyKeys, type Filter } from '../../../protocol/contact-filter/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { listClicks, linksPage, type LinkClicks } from '../broadcast-recipients/links.store.ts';
import { loadBroadcastCounts, type BroadcastCounts } from '../broadcast-recipients/outcomes.store.ts';
import {
  exclusionsPage,
  recipientsPage,
  type RecipientRow,
  type RecipientType,
} from '../broadcast-recipients/broadcast-recipients.store.ts';
import { imagesShownIn } from '../../templates/index.ts';
import {
  findContactsByIds,
  countMembers,
  membersPage,
  readPropertyValues,
  liveSegments,
  getContactProperty,
} from '../../audience/index.ts';
import {
  findBroadcast,
  listBroadcastRows,
  listIds,
  broadcastsWaitingOn,
  type BroadcastRow,
  type ListedBroadcast,
  type BroadcastContent,
} from './broadcasts.store.ts';
import { loadAudience, presentAudience, readSegments, type Audience, type UnknownAudience } from './audience.ts';
import { checkAbTest, presentAbTest } from './ab-test.ts';
import { loadSurroundings, checkBodies, countChars } from './freeze-broadcast.ts';
import { loadRequirements, runGate } from './send-broadcast.ts';
import { isoTime } from '../../../platform/clock.ts';
import type { ContentCheck } from '../../../protocol/content-checks.ts';
import { checkArchive, presentArchiveUrl } from './archive.ts';
import { loadReviewStatus } from './reviews.ts';
import { contactZones } from './send-time.ts';
import type { UtmParameters } from '../../../protocol/utm.ts';

type ZoneCheck = Omit<ContentCheck, 'name'> & { name: 'local_time' };

const SHOWN_MAX = 20;

/**
 * Checks a broadcast that is sent at the local hour for members whose time zone is unknown. It may warn but never
 * fails.
 */
async function checkZones(
  { db }: Pick<Store, 'db'>,
  teamId: string,
  { local_time: localTime, audience }: Pick<BroadcastContent, 'local_time'> & { audience: Audience | UnknownAudience },
): Promise<ZoneCheck[]> {
  if (localTime === 0 || 'failed' in audience) return [];
  const { property, zones, hasUnknown, fallback } = await contactZones(db, teamId);
  const otherwise = fallback
    ? `at the fallback value of the property, ${fallback.name}`
    : 'at the time of scheduled_at itself';
  const checkItem = (status: ZoneCheck['status'], message: string, details: string[] = []): ZoneCheck[] => [
    { name: 'local_time', status, message, details },
  ];
  if (!property)
    return checkItem(
      'warn',
      `There is no contact property timezone of type string; all contacts get the email ${otherwise}.`,
    );
  const place = { of: 'property', propertyId: property.id, slot: property.slot } as const;
  const filter: Filter = {
    kind: 'all',
    of: [
      audience.filter,
      { kind: 'exists', place, type: 'string', wanted: true },
      { kind: 'none', of: zones.size > 0 ? [{ kind: 'text', place, op: 'in', values: [...zones.keys()] }] : [] },
    ],
  };
  const wrong = hasUnknown ? await countMembers(db, teamId, filter) : 0;
  const without = `members without a time zone get the email ${otherwise}`;
  if (wrong === 0) return checkItem('pass', `Every time zone of a member is known; ${without}.`);
  const members = wrong === 1 ? '1 member has' : `${wrong} members have`;
  const some = await membersPage(db, teamId, filter, { limit: SHOWN_MAX, after: undefined });
  const texts = new Set(some.map((contact) => String(readPropertyValues(contact)[property.slot])));
  return checkItem('warn', `${members} a timezone that is not an IANA time zone; they and ${without}.`, [...texts]);
}

type OpensCheck = Omit<ContentCheck, 'name'> & { name: 'opens' };

/**
 * Warns if a broadcast goes to those who have not opened an earlier one of which no open is known. If opens were not
 * tracked, they are all who received it.
 */
async function checkOpens({ db }: Pick<Store, 'db'>, audience: Audience | UnknownAudience): Promise<OpensCheck[]> {
  if ('failed' in audience || audience.notOpened === null) return [];
  const { id, name } = audience.notOpened;
  const earlier = JSON.stringify(name);
  if (((await loadBroadcastCounts(db, [id])).get(id)?.opened ?? 0) > 0) {
    return [{ name: 'opens', status: 'pass', message: `Opens of ${earlier} were counted.`, details: [] }];
  }
  const message = `No open of ${earlier} was counted, so those who read it get this broadcast too, unless they clicked a link. Opens are counted only if open_tracking of the domain was on when ${earlier} was sent.`;
  return [{ name: 'opens', status: 'warn', message, details: [] }];
}

function presentBroadcastItem(row: ListedBroadcast) {
  return {
    id: row.id,
    name: row.name,
    segment_id: row.segment_id,
    audience_id: row.segment_id,
    topic_id: row.topic_id,
    status: row.status,
    changed_by_app: row.changed_by_app,
    created_at: isoTime(row.created_at),
    updated_at: isoTime(row.updated_at),
    // Absent until they are set, never null.
    ...(row.scheduled_at !== null && { scheduled_at: isoTime(row.scheduled_at) }),
    ...(row.sent_at !== null && { sent_at: isoTime(row.sent_at) }),
    recipients: row.recipients,
    excluded: row.excluded,
    total: row.total,
    archive: row.archive === 1,
    held: presentHeld(row),
    paused: presentPause(row),
  };
}

type HeldRow = Pick<BroadcastRow, 'status' | 'held_reason' | 'held_since' | 'held_detail'>;

export const presentHeld = ({ status, held_reason: reason, held_since: since, held_detail: detail }: HeldRow) =>
  reason === null || since === null || status === 'canceled' ? null : { reason, since: isoTime(since), detail };

type PausedRow = Pick<BroadcastRow, 'status' | 'paused_at' | 'paused_by_kind' | 'paused_by_name'>;

const presentPause = ({ status, paused_at: at, paused_by_kind: kind, paused_by_name: name }: PausedRow) =>
  at === null || kind === null || status === 'canceled' ? null : { since: isoTime(at), by: { kind, name } };

function presentBroadcast(row: BroadcastRow, counts: BroadcastCounts = NOTHING_CAME) {
  const item = presentBroadcastItem(row);
  // A paused broadcast waits for a person and for nothing else.
  const waitsFor = item.paused === null ? row.waiting_reason : null;
  return {
    object: 'broadcast' as const,
    ...item,
    from: row.sender,
    subject: row.subject,
    reply_to: JSON.parse(row.reply_to_list) as string[],
    preview_text: row.preview_text,
    html: row.html,
    text: row.text,
    segment_ids: readSegments(row),
    exclude_segment_ids: listIds(row.exclude_segment_ids),
    not_received_from: listIds(row.not_received_from),
    received_but_not_opened: row.received_but_not_opened,
    duplicated_from: row.duplicated_from,
    template_id: row.template_id,
    rate_per_minute: row.rate_per_minute,
    pool: row.pool,
    utm: presentUtm(row),
    local_time: row.local_time === 1,
    require_review: row.require_review === 1,
    waiting_reason: waitsFor,
    next_at:
      ['local_hour', 'ab_test', 'quiet_hours'].includes(waitsFor ?? '') && row.next_at !== null
        ? isoTime(row.next_at)
        : null,
    failed_reason: row.failed_reason,
    counts,
    // Clicks that were counted are measured, whatever the page of their email recorded.
    ...(row.recipients > 0 && row.opens_measured === 0 && counts.opened === 0 && { opens_measured: false }),
    ...(row.recipients > 0 && row.clicks_measured === 0 && counts.clicked === 0 && { clicks_measured: false }),
  };
}

/** Presents the `utm_` parameters; those that are null are made from names when it is sent. */
function presentUtm({ utm }: Pick<BroadcastRow, 'utm'>) {
  if (utm === null) return null;
  const {
    source = null,
    medium = null,
    campaign = null,
    term = null,
    content = null,
  } = JSON.parse(utm) as UtmParameters;
  return { source, medium, campaign, term, content };
}

const NOTHING_CAME: BroadcastCounts = {
  sent: 0,
  delivered: 0,
  opened: 0,
  clicked: 0,
  bounced: 0,
  complained: 0,
  unsubscribed: 0,
  suppressed: 0,
};

/** Returns the address; null if the contact was erased. */
const emailIn = ({ email }: Pick<RecipientRow, 'email'>): string | null => (email === '' ? null : email);

interface Shown {
  type: RecipientType;
  /** Contacts that still exist. */
  live: ReadonlySet<string>;
  clicks: readonly LinkClicks[];
}

/** Presents a recipient with the fields that its type counts. */
function presentRecipient(row: RecipientRow, { type, live, clicks }: Shown) {
  return {
    id: row.id,
    contact_id: row.contact_id !== null && live.has(row.contact_id) ? row.contact_id : null,
    email: emailIn(row),
    ...(type === 'opened' && { count: row.opened, machine_count: row.machine_opened }),
    ...(type === 'clicked' && {
      count: row.clicked,
      machine_count: row.machine_clicked,
      clicked_links: clicks.map((one) => ({ url: one.url, clicks: one.clicks })),
    }),
    ...(type === 'bounced' && row.bounced !== null && { bounce_type: row.bounced }),
  };
}

/** Lists the segments whose filter names a property, and their broadcasts that are waiting or being sent. */
export async function listPropertyUsers(ctx: Ctx, propertyId: string) {
  const { store, teamId } = ctx;
  const { key } = await getContactProperty(ctx, propertyId);
  const naming = (await liveSegments(store.db, teamId)).filter(
    ({ filter }) => filter !== null && listPropertyKeys(JSON.parse(filter)).has(key),
  );
  const ids = naming.map(({ id }) => id);
  return {
    key,
    segments: naming.map(({ id, name }) => ({ id, name })),
    broadcasts: ids.length === 0 ? [] : await broadcastsWaitingOn(store.db, teamId, ids),
  };
}

export async function getBroadcast(ctx: Ctx, id: string) {
  const row = await loadBroadcast(ctx, id);
  const { db } = ctx.store;
  return {
    ...presentBroadcast(row, (await loadBroadcastCounts(db, [id])).get(id)),
    review_status: await loadReviewStatus(db, row),
    ...(await presentArchiveUrl(ctx, row)),
    ab: await presentAbTest(db, row),
  };
}

export async function listBroadcasts({ store, teamId }: Ctx, query: QueryOf<'listBroadcasts'>, page: Page) {
  const { search, status } = query;
  const wanted = search === undefined ? undefined : foldText(search);
  const { rows, hasMore } = await listBroadcastRows(
    store.db,
    teamId,
    {
      status,
      ...(wanted !== undefined && {
        matches: ({ name, subject }) => foldText(name).includes(wanted) || foldText(subject).includes(wanted),
      }),
    },
    page,
  );
  return { object: 'list' as const, has_more: hasMore, data: rows.map(presentBroadcastItem) };
}

export async function listBroadcastRecipients(
  ctx: Ctx,
  id: string,
  query: QueryOf<'listBroadcastRecipients'>,
  page: Page,
) {
  const { type, email, bounce_type: bounceType } = query;
  if (bounceType !== undefined && type !== 'bounced') {
    throw refuse('invalid_parameter', { say: `bounce_type can only be used with type bounced; got type ${type}.` });
  }
  const { db } = ctx.store;
  await loadBroadcast(ctx, id);
  const { rows, hasMore } = await recipientsPage(db, { broadcastId: id, type, email, bounceType }, page);
  const live = await liveAmong(ctx, rows);
  const emailIds = type === 'clicked' ? rows.flatMap((row) => row.email_id ?? []) : [];
  const clicks = Map.groupBy(emailIds.length > 0 ? await listClicks(db, emailIds) : [], (one) => one.email_id);
  const data = rows.map((row) => presentRecipient(row, { type, live, clicks: clicks.get(row.email_id ?? '') ?? [] }));
  return { object: 'list' as const, has_more: hasMore, data };
}

export async function listBroadcastExclusions(ctx: Ctx, id: string, page: Page) {
  await loadBroadcast(ctx, id);
  const { rows, hasMore } = await exclusionsPage(ctx.store.db, id, page);
  const live = await liveAmong(ctx, rows);
  const data = rows.flatMap((row) =>
    row.excluded === null
      ? []
      : [{ id: row.id, contact_id: liveId(row.contact_id, live), email: emailIn(row), reason: row.excluded }],
  );
  return { object: 'list' as const, has_more: hasMore, data };
}

export async function listBroadcastLinks(ctx: Ctx, id: string, page: Page) {
  await loadBroadcast(ctx, id);
  const { rows, hasMore } = await linksPage(ctx.store.db, id, page);
  const data = rows.map(({ id: linkId, url, clicks, unique_clicks, machine_clicks }) => ({
    id: linkId,
    url,
    clicks,
    unique_clicks,
    machine_clicks,
  }));
  return { object: 'list' as const, has_more: hasMore, data };
}

/** Returns the results of the checks that a send would run now, without sending. */
export async function getBroadcastChecklist(ctx: Ctx, id: string) {
  const { store, teamId } = ctx;
  const row = await loadBroadcast(ctx, id);
  const around = await loadRequirements(store, teamId, row);
  const { items, source, domain } = await runGate(store, store.db, { teamId, row, around });
  const audience = await loadAudience(store.db, teamId, row, store.clock.now());
  const zones = await checkZones(store, teamId, { local_time: row.local_time, audience });
  const { properties, team } = await loadSurroundings(store.db, row);
  const shown = await imagesShownIn(store, store.db, teamId, source?.html ?? '');
  const { subject, preview_text, ab_test } = row;
  const ofContent = await store.texts.run(
    { teamId, chars: countChars(source), task: checkBodies },
    { written: { subject, preview_text, ab_test }, source, properties, team, shown },
  );
  const opens = await checkOpens(store, audience);
  const checks = [...ofContent, ...zones, ...checkAbTest(row, domain), ...opens, ...checkArchive(row, team)];
  const counted = around.counted ?? null;
  return {
    object: 'broadcast_checklist' as const,
    gate: items,
    audience: counted === null || 'failed' in audience ? null : { ...presentAudience(audience), ...counted },
    checks,
  };
}

async function loadBroadcast({ store, teamId }: Ctx, id: string): Promise<BroadcastRow> {
  const row = await findBroadcast(store.db, teamId, id);
  if (!row) throw notFound('Broadcast');
  return row;
}

/** Returns the contacts of these rows that still exist. */
async function liveAmong(
  { store, teamId }: Ctx,
  rows: readonly { contact_id: string | null }[],
): Promise<ReadonlySet<string>> {
  const ids = rows.flatMap((row) => row.contact_id ?? []);
  return new Set((await findContactsByIds(store.db, teamId, ids)).map((contact) => contact.id));
}

const liveId = (id: string | null, live: ReadonlySet<string>): string | null =>
  id !== null && live.has(id) ? id : null;
