import type { BodyOf } from '../../contract/index.ts';
import { isoTime } from '../../platform/clock.ts';
import { notFound, Refusal, refuse } from '../../platform/refusal.ts';
import { hashToken, newToken } from '../../platform/secrets/index.ts';
import type { Store } from '../../platform/store.ts';
import type { Ctx, NobodyCtx } from '../../tenancy/access/index.ts';
import { audited } from '../../tenancy/audit/index.ts';
import { mayShowContent, mustBeWithinQuota } from '../../tenancy/usage/index.ts';
import { contactNamed, findTopic } from '../audience/index.ts';
import {
  computeVersion,
  isReviewable,
  listBroadcastReviews,
  reviewBroadcast,
  findBroadcast,
  getBroadcast,
  getBroadcastChecklist,
  readBroadcastReport,
  renderMail,
  renderStandaloneMail,
  type StandaloneMail,
  type BroadcastReport,
  type RenderedMail,
} from '../campaigns/index.ts';
import { findAutomation, listStepMails } from '../automations/index.ts';
import { findNamedContent, findTemplate } from '../templates/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import { getEmailMetrics } from '../metrics/index.ts';
import {
  findLivePageShare,
  insertPageShare,
  removePageShares,
  type PageKind,
  type PageShareRow,
} from './page-shares.store.ts';
import { PAGE_LIFETIME, PREFIX, readExpiresIn } from './shares.ts';

type Team = Pick<Ctx, 'store' | 'teamId'>;

interface Shared<Kind extends PageKind> {
  kind: Kind;
  /** Returns the id of what is shared; throws if the team has no such thing. */
  find: (db: Executor) => Promise<string>;
}

const targetBroadcast = ({ teamId }: Team, id: string): Shared<'broadcast'> => ({
  kind: 'broadcast',
  async find(db) {
    if (!(await findBroadcast(db, teamId, id))) throw notFound('Broadcast');
    return id;
  },
});

const targetTemplate = ({ teamId }: Team, name: string): Shared<'template'> => ({
  kind: 'template',
  async find(db) {
    const template = await findTemplate(db, teamId, name);
    if (!template) throw notFound('Template');
    return template.id;
  },
});

const targetAutomation = ({ teamId }: Team, id: string): Shared<'automation'> => ({
  kind: 'automation',
  async find(db) {
    if (!(await findAutomation(db, teamId, id))) throw notFound('Automation');
    return id;
  },
});

export const createBroadcastShare = (ctx: Ctx, id: string, input: BodyOf<'createBroadcastShare'>) =>
  createPageShare(ctx, targetBroadcast(ctx, id), input);

export const createTemplateShare = (ctx: Ctx, name: string, input: BodyOf<'createTemplateShare'>) =>
  createPageShare(ctx, targetTemplate(ctx, name), input);

export const createAutomationShare = (ctx: Ctx, id: string, input: BodyOf<'createAutomationShare'>) =>
  createPageShare(ctx, targetAutomation(ctx, id), input);

async function createPageShare<Kind extends PageKind>(
  ctx: Ctx,
  { kind, find }: Shared<Kind>,
  input: BodyOf<'createBroadcastShare'>,
) {
  const { clock, db, origin } = ctx.store;
  const lifeMs = readExpiresIn(input.expires_in, PAGE_LIFETIME);
  const token = newToken(PREFIX);
  const now = clock.now();
  const id = await db.tx(async (tx) => {
    const targetId = await find(tx);
    await mustBeWithinQuota(ctx, tx);
    const contacts: string[] = [];
    for (const name of input.contacts ?? []) contacts.push((await contactNamed(tx, ctx.teamId, name)).id);
    await insertPageShare(tx, {
      token_hash: hashToken(token),
      team_id: ctx.teamId,
      kind,
      target_id: targetId,
      contact_ids: JSON.stringify([...new Set(contacts)]),
      allow_review: input.allow_review === true ? 1 : 0,
      created_at: now,
      expires_at: now + lifeMs,
    });
    return targetId;
  });
  return { object: kind, id, url: `${origin()}/preview/${token}`, expires_at: isoTime(now + lifeMs) };
}

export const revokeBroadcastShares = (ctx: Ctx, id: string) => revokePageShares(ctx, targetBroadcast(ctx, id));

export const revokeTemplateShares = (ctx: Ctx, name: string) => revokePageShares(ctx, targetTemplate(ctx, name));

export const revokeAutomationShares = (ctx: Ctx, id: string) => revokePageShares(ctx, targetAutomation(ctx, id));

async function revokePageShares<Kind extends PageKind>({ store, teamId }: Ctx, { kind, find }: Shared<Kind>) {
  const { id, removed } = await store.db.tx(async (tx) => {
    const targetId = await find(tx);
    return { id: targetId, removed: await removePageShares(tx, { teamId, targetId }) };
  });
  const now = store.clock.now();
  return { object: kind, id, revoked: removed.filter((share) => share.expires_at > now).length };
}

/** Records the decision of the reader of a link, with an entry in the audit log of the team. */
export async function reviewSharedBroadcast(
  { store, browser, requestId }: NobodyCtx,
  token: string,
  input: BodyOf<'reviewSharedBroadcast'>,
) {
  const share = await findLiveShareOfTeam(store, token);
  if (!share) throw notFound('Share link');
  if (share.kind !== 'broadcast' || share.allow_review === 0)
    throw refuse('invalid_permission', { say: 'This link does not allow reviews.' });
  const { decision, name, note = null } = input;
  const { store: auditedStore } = audited(store, {
    team_id: share.team_id,
    action: 'broadcast.reviewed',
    subject_id: share.target_id,
    actor_kind: 'link',
    actor_id: null,
    actor_name: name.trim(),
    address: browser.address,
    user_agent: browser.userAgent.slice(0, USER_AGENT_CHARS_MAX),
    request_id: requestId,
    details: JSON.stringify({ decision, note }),
  });
  return reviewBroadcast(auditedStore, { teamId: share.team_id, id: share.target_id }, input);
}

const USER_AGENT_CHARS_MAX = 500;

/** Returns a link that works; undefined if it is unknown, expired or revoked, or its team may not show content. */
async function findLiveShareOfTeam(store: Store, token: string): Promise<PageShareRow | undefined> {
  const share = await findLivePageShare(store.db, hashToken(token), store.clock.now());
  return share && (await mayShowContent(store, share.team_id)) ? share : undefined;
}

/** The broadcast of a link with `allow_review`, as the form for a review names it. */
export interface ReviewedBroadcast {
  name: string;
  version: string;
  isReviewable: boolean;
}

/** Reads what a form for a review is about; undefined if the link does not work or allows no reviews. */
export async function readReviewedBroadcast(store: Store, token: string): Promise<ReviewedBroadcast | undefined> {
  const share = await findLiveShareOfTeam(store, token);
  if (!share || share.kind !== 'broadcast' || share.allow_review === 0) return undefined;
  const row = await findBroadcast(store.db, share.team_id, share.target_id);
  return row && { name: row.subject, version: await computeVersion(store.db, row), isReviewable: isReviewable(row) };
}

/** A contact whose email a page shows; `email` is null if the contact was deleted since. */
export interface PageContact {
  id: string;
  email: string | null;
}

/** The page of a link shows this, and the rendered email. */
export interface SharedPage {
  share: PageShareRow;
  /** Empty if the page shows a made-up contact. */
  contacts: PageContact[];
  /** Null on the page of a template or an automation. */
  broadcast: PageBroadcast | null;
  /** The name of the template or the automation; null on the page of a broadcast. */
  name: string | null;
  /** The mails of a template or an automation, of which one is shown; empty for a broadcast. */
  mails: (StandaloneMail & { label: string })[];
}

/** The parts of the page of a broadcast. */
export interface PageBroadcast {
  broadcast: Awaited<ReturnType<typeof getBroadcast>>;
  /** Null once the broadcast is being sent. */
  checklist: Awaited<ReturnType<typeof getBroadcastChecklist>> | null;
  /** Null before the broadcast is being sent. */
  report: (BroadcastReport & { periods: Period[]; isHourly: boolean }) | null;
  /** The name of its topic; null without one. */
  topicName: string | null;
  /** The newest reviews. */
  reviews: Awaited<ReturnType<typeof listBroadcastReviews>>['data'];
  /** The version of the content. */
  version: string;
  mayReview: boolean;
}

const REVIEWS_SHOWN = 20;

export interface Period {
  /** The start of the period, in UTC. */
  name: string;
  delivered: number;
  opened: number;
  clicked: number;
}

/** Reads the page of a link; undefined if the link is unknown, expired or revoked, or what it shows is gone. */
export async function readSharedPage(store: Store, token: string, requestId: string): Promise<SharedPage | undefined> {
  const share = await findLiveShareOfTeam(store, token);
  if (!share) return undefined;
  const ctx = asReader(store, share, requestId);
  const shown = { share, contacts: await loadContacts(ctx, share) };
  if (share.kind === 'broadcast') {
    const broadcast = await loadBroadcastParts(ctx, share);
    return broadcast && { ...shown, broadcast, name: null, mails: [] };
  }
  const found = await loadMails(ctx, share);
  return found && { ...shown, broadcast: null, ...found };
}

async function loadBroadcastParts(ctx: Ctx, share: PageShareRow): Promise<PageBroadcast | undefined> {
  const { db } = ctx.store;
  const { target_id: id } = share;
  const row = await findBroadcast(db, ctx.teamId, id);
  if (!row) return undefined;
  const broadcast = await getBroadcast(ctx, id);
  const isBegun = !['draft', 'scheduled', 'queued'].includes(broadcast.status);
  return {
    broadcast,
    checklist: isBegun ? null : await getBroadcastChecklist(ctx, id),
    report: isBegun ? await loadReport(ctx, broadcast) : null,
    topicName: row.topic_id === null ? null : ((await findTopic(db, ctx.teamId, row.topic_id))?.name ?? null),
    reviews: (await listBroadcastReviews(ctx, id, { limit: REVIEWS_SHOWN })).data,
    version: await computeVersion(db, row),
    mayReview: share.allow_review === 1 && isReviewable(row),
  };
}

/** Loads the latest content of a template, or the emails that the active version of an automation sends. */
async function loadMails(
  { store: { db }, teamId }: Ctx,
  { kind, target_id: id }: PageShareRow,
): Promise<Pick<SharedPage, 'name' | 'mails'> | undefined> {
  if (kind === 'automation') {
    const automation = await findAutomation(db, teamId, id);
    return automation && { name: automation.name, mails: await listStepMails(db, automation) };
  }
  const found = await findNamedContent(db, teamId, { id, which: 'draft' });
  if (!found) return undefined;
  const { version, fallbacks, name } = found;
  const { html, text, subject } = version;
  const source = { html, text, template: { versionId: version.id, subject, html, text, fallbacks } };
  const mail = {
    id,
    label: name,
    sender: version.sender ?? '',
    subject: subject ?? '',
    source,
    given: {},
    stream: undefined,
    topicId: null,
  };
  return { name, mails: [mail] };
}

/** Returns the context in which the reader of a link reads things of the team. */
const asReader = (store: Store, { team_id: teamId }: PageShareRow, requestId: string): Ctx => ({
  store,
  teamId,
  actor: { kind: 'job', name: 'page link' },
  requestId,
});

async function loadContacts({ store, teamId }: Team, { contact_ids: ids }: PageShareRow): Promise<PageContact[]> {
  const contacts: PageContact[] = [];
  for (const id of JSON.parse(ids) as string[]) {
    const found = await unlessGone(contactNamed(store.db, teamId, id));
    contacts.push({ id, email: found?.email ?? null });
  }
  return contacts;
}

/** Renders an email of the page as the chosen contact gets it; without chosen contacts, as a made-up one does. */
export async function renderPageMail(
  store: Store,
  { share, contacts, mails }: SharedPage,
  { contact: number, email, requestId }: { contact: number; email: number; requestId: string },
): Promise<RenderedMail | undefined> {
  const ctx = asReader(store, share, requestId);
  const contact = contacts[number - 1];
  if (contacts.length > 0 && (!contact || contact.email === null)) return undefined;
  if (share.kind === 'broadcast') {
    const row = await findBroadcast(store.db, share.team_id, share.target_id);
    return row && unlessGone(renderMail(ctx, row, contact?.id));
  }
  const mail = mails[email - 1];
  return mail && unlessGone(renderStandaloneMail(ctx, mail, contact?.id));
}

/** Returns undefined if what is read was deleted meanwhile. */
async function unlessGone<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof Refusal && error.errorName === 'not_found') return undefined;
    throw error;
  }
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Longer reports have a bar for each day, so that a bar stays wide enough to see. */
const HOURLY_MS_MAX = 2 * DAY_MS;
const REPORTED_MS_MAX = 30 * DAY_MS;

async function loadReport(ctx: Ctx, broadcast: PageBroadcast['broadcast']): Promise<PageBroadcast['report']> {
  const { store, teamId } = ctx;
  const report = await readBroadcastReport(store, { teamId, id: broadcast.id });
  if (report.startedAt === null) return { ...report, periods: [], isHourly: true };
  const end = Math.min(store.clock.now(), report.startedAt + REPORTED_MS_MAX);
  const isHourly = end - report.startedAt <= HOURLY_MS_MAX;
  const metrics = await getEmailMetrics(ctx, {
    broadcast_id: broadcast.id,
    dimensions: 'period',
    granularity: isHourly ? 'hourly' : 'daily',
    metrics: 'delivered,unique_opened,unique_clicked',
    start_date: isoTime(report.startedAt),
    end_date: isoTime(end),
  });
  const periods = ('data' in metrics ? metrics.data : []).map((row) => ({
    name: row.period ?? '',
    delivered: row.delivered ?? 0,
    opened: row.unique_opened ?? 0,
    clicked: row.unique_clicked ?? 0,
  }));
  return { ...report, periods, isHourly };
}
