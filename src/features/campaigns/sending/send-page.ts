import { excludedAmong, hasGrown, loadAudience, type Audience } from '../broadcasts/audience.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { World } from '../../../platform/world.ts';
import { parseAddress, parseMailbox, type Mailbox } from '../../../protocol/address/index.ts';
import { formatListId } from '../../../protocol/mime/index.ts';
import {
  insertRecipients,
  recipientsAmong,
  contactsMet,
  variantCounts,
  type ExclusionReason,
  type NewRecipientRow,
} from '../broadcast-recipients/broadcast-recipients.store.ts';
import { isTooLarge, isViewable, mailFor, mergedMail, type MergedMail } from '../broadcasts/merge-values.ts';
import { saveProgress, saveDecision, waitForDecision } from '../broadcasts/leases.store.ts';
import { readAbTest, decide, readDecision, listSubjects, variantFor } from '../broadcasts/ab-test.ts';
import { readFallbacks } from '../broadcasts/freeze-broadcast.ts';
import { readQuietHours } from '../broadcasts/quiet-hours.ts';
import type { BroadcastRow } from '../broadcasts/broadcasts.store.ts';
import {
  beginEngagement,
  countTowardsCap,
  mayMail,
  membersPage,
  buildUnsubscribeLinks,
  type ContactRow,
  declaredProperties,
  findTopic,
} from '../../audience/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import {
  findDomainByName,
  findDomain,
  findLinkOrigin,
  findTracked,
  findUnsubscribeAddress,
  type DomainRow,
  type Tracked,
} from '../../../mail/domains/index.ts';
import { acceptWithin, logAccepted, mustBeAllowedBySandbox, type Prepared } from '../../../mail/accept/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import type { Filter } from '../../../protocol/contact-filter/index.ts';
import { findSharedBody, readBody } from '../../../mail/shared-bodies/index.ts';
import { findTeam, readMarketingCap, type MarketingCap } from '../../../tenancy/teams/index.ts';

const MINUTE_MS = 60_000;

/**
 * Returns a function that picks the subject for an address; undefined if the address is not due yet. A broadcast with
 * an A/B test walks its segment twice: first it sends to a share of the addresses, split evenly among the subjects, and
 * then to the remaining ones with the subject that most people clicked.
 */
function subjectFor(broadcast: BroadcastRow): (emailKey: string) => number | undefined {
  const test = readAbTest(broadcast);
  if (!test) return () => 0;
  const decision = readDecision(broadcast);
  return decision ? () => decision.winner : (emailKey) => variantFor(broadcast.id, emailKey, test);
}

/** Reports whether the broadcast is in the test phase of its A/B test. */
export const isTesting = (broadcast: BroadcastRow): boolean =>
  broadcast.ab_test !== null && broadcast.ab_decision === null;

/** Ends the test phase; the broadcast continues after the time to click is over. */
export async function endTest({ db, clock }: World, broadcast: BroadcastRow, owner: string): Promise<void> {
  const decidesAt = clock.now() + (readAbTest(broadcast)?.wait_minutes ?? 0) * MINUTE_MS;
  await db.tx((tx) => waitForDecision(tx, { id: broadcast.id, owner, decidesAt }));
}

/**
 * Stores the decision once, together with its counts, so that later clicks do not change it. Returns undefined if the
 * broadcast was canceled.
 */
export function decideSubject(
  { db }: World,
  broadcast: BroadcastRow,
  owner: string,
): Promise<BroadcastRow | undefined> {
  return db.tx(async (tx) => {
    const counts = await variantCounts(tx, broadcast.id, listSubjects(broadcast).length);
    const decision = JSON.stringify(decide(counts, { isMeasured: broadcast.clicks_measured === 1 }));
    const isSaved = await saveDecision(tx, { id: broadcast.id, owner, decision });
    return isSaved ? { ...broadcast, ab_decision: decision, next_at: null } : undefined;
  });
}

export const PAGE_MAX = 500;

/** Thrown if the broadcast was canceled, paused or taken over by another process. */
export class TakenOver extends Error {}

/** Thrown if an approved broadcast would reach more contacts than a person approved. */
export class AudienceGrown extends Error {
  readonly contacts: number;

  constructor(contacts: number) {
    super(`the audience of an approved broadcast has grown to ${contacts}`);
    this.contacts = contacts;
  }
}

/** Thrown if an approved broadcast would reach other contacts than a person approved. */
export class AudienceReplaced extends Error {
  constructor() {
    super('the audience of an approved broadcast was replaced');
  }
}

/** Thrown if the topic was deleted since this turn began. */
export class TopicGone extends Error {}

interface Page {
  broadcast: BroadcastRow;
  route: Route;
  /** Matches the contacts of the current pass. */
  filter: Filter;
  owner: string;
  /** Number of emails that earlier pages have accepted. */
  recipients: number;
  /** Last contact of the previous page. */
  cursor: string | undefined;
  limit: number;
}

interface PageSent {
  accepted: number;
  cursor: string | undefined;
  /** True if no contact follows. */
  isLast: boolean;
}

/**
 * Sends one page: its emails, its report and the progress of the broadcast are one transaction. Members are read newest
 * first, so a contact that is added meanwhile is on no later page. A contact that is deleted and created again keeps
 * its address, which the broadcast already has; a contact that is met again with another address is recognized by its
 * id.
 */
export async function sendPage(
  world: World,
  { broadcast, route, filter, owner, recipients, cursor, limit }: Page,
): Promise<PageSent> {
  const { id: broadcastId, team_id: teamId } = broadcast;
  const page = await membersPage(world.db, teamId, filter, { limit, after: cursor });
  const last = page.at(-1)?.id;
  if (last === undefined) return { accepted: 0, cursor, isLast: true };
  const ctx: Ctx = {
    store: world,
    teamId,
    actor: { kind: 'job', name: 'broadcasts' },
    requestId: world.ids.prefixed('req_'),
  };
  const chooseSubject = subjectFor(broadcast);
  // Composing mail that a contact already has would cost most of a walk.
  const earlier = isWalkedAgain(broadcast)
    ? await recipientsAmong(
        world.db,
        broadcastId,
        page.map((member) => member.email_key),
      )
    : new Set<string>();
  const members = page.filter((member) => !earlier.has(member.email_key));
  let quietUntil: number | undefined;
  const drafted = members.flatMap((member) => {
    const subject = chooseSubject(member.email_key);
    const mail = subject === undefined ? undefined : route.mails[subject];
    return mail ? [{ member, subject, ...draftFor(world, broadcast, { route, mail }, member) }] : [];
  });
  const toVariant = isTesting(broadcast) ? (subject: number | undefined) => subject ?? null : () => null;
  const outside = await outsideSandbox(
    ctx,
    drafted.flatMap(({ send }) => send ?? []),
  );
  const emails = await world.db.tx(async (tx) => {
    if (await isTopicGone(tx, broadcast)) throw new TopicGone();
    const known = await recipientsAmong(
      tx,
      broadcastId,
      drafted.map(({ member }) => member.email_key),
    );
    const contactIds = drafted.map(({ member }) => member.id);
    const met = isWalkedAgain(broadcast) ? await contactsMet(tx, broadcastId, contactIds) : undefined;
    const excluded = await mayMail(tx, teamId, { contactIds, topicId: broadcast.topic_id });
    // Read again for each page, in its transaction: members of excluded segments and readers change while it is sent.
    const leftOut = await excludedAmong(
      tx,
      teamId,
      route.audience,
      drafted.map(({ member }) => member),
    );
    const now = world.clock.now();
    const judged = drafted.flatMap(({ member, subject, send, unfit }) => {
      if (known.has(member.email_key) || met?.has(member.id)) return [];
      const reason: ExclusionReason | undefined =
        excluded.get(member.id) ??
        leftOut.get(member.id) ??
        unfit ??
        (send && outside.has(send) ? 'sandboxed' : undefined);
      const quietEnd = reason === undefined ? route.findQuietEnd?.(member, now) : undefined;
      if (quietEnd === undefined) return [{ member, subject, send, reason }];
      quietUntil = Math.min(quietUntil ?? quietEnd, quietEnd);
      return [];
    });
    const wanted = judged.flatMap(({ member, reason }) => (reason === undefined ? member.id : []));
    const capped = route.cap
      ? await countTowardsCap(tx, { teamId, contactIds: wanted, cap: route.cap }, now)
      : new Set<string>();
    const rows: NewRecipientRow[] = [];
    const sends: Prepared[] = [];
    for (const { member, subject, send, reason: fault } of judged) {
      const reason = fault ?? (capped.has(member.id) ? 'marketing_cap' : undefined);
      rows.push({
        broadcast_id: broadcastId,
        email_key: member.email_key,
        id: world.ids.uuid(),
        contact_id: member.id,
        email: member.email,
        email_id: reason === undefined ? (send?.id ?? null) : null,
        excluded: reason ?? null,
        variant: reason === undefined ? toVariant(subject) : null,
      });
      if (reason === undefined && send) sends.push(send);
    }
    // Members that were added after it began are reached too, if their contacts are older than those of the page.
    const reached = recipients + sends.length;
    if (hasGrown(broadcast.approved_contacts, reached)) throw new AudienceGrown(reached);
    const progress = {
      cursorId: last,
      recipients: sends.length,
      excluded: rows.length - sends.length,
      tracked: route.tracked,
      quietUntil,
    };
    if (!(await saveProgress(tx, { id: broadcastId, owner, ...progress }))) throw new TakenOver();
    await insertRecipients(tx, rows);
    await beginEngagement(
      tx,
      teamId,
      sends.flatMap(({ contactId }) => contactId ?? []),
    );
    return acceptWithin(world, tx, ctx, sends, {
      kind: 'marketing',
      broadcastId,
      pool: broadcast.pool ?? undefined,
    });
  });
  logAccepted(world, ctx, emails);
  return { accepted: emails.length, cursor: last, isLast: page.length < limit };
}

/**
 * Reports whether the segment may be walked more than once, so that a contact may be met again with another address. A
 * topic can have quiet hours.
 */
const isWalkedAgain = ({ local_time: localTime, ab_test: abTest, topic_id: topicId }: BroadcastRow): boolean =>
  localTime === 1 || abTest !== null || topicId !== null;

/** Returns the sends that the sandbox of a region blocks, as for any other mail. */
async function outsideSandbox(ctx: Ctx, sends: readonly Prepared[]): Promise<Set<Prepared>> {
  const find = (name: string): Promise<DomainRow | undefined> => findDomainByName(ctx.store.db, ctx.teamId, name);
  const outside = new Set<Prepared>();
  for (const send of sends) {
    try {
      await mustBeAllowedBySandbox(ctx, { draft: send.draft, domain: send.domain, find });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      outside.add(send);
    }
  }
  return outside;
}

/** Returns the mail of a contact, or the reason why there is none. */
function draftFor(
  world: World,
  broadcast: BroadcastRow,
  { route, mail }: { route: Route; mail: MergedMail },
  contact: ContactRow,
): { send?: Prepared & { id: string }; unfit?: ExclusionReason } {
  const parsed = parseAddress(contact.email);
  if (!parsed.ok) return { unfit: 'invalid_address' };
  const id = world.ids.uuid();
  const { variables, headers } = buildUnsubscribeLinks(world, route.origin, {
    contact,
    topicId: broadcast.topic_id,
    emailId: id,
    mailto: route.mailto,
    isViewable: isViewable(mail),
  });
  const { subject, values } = mailFor(mail, contact, variables);
  if (isTooLarge(mail.body, values)) return { unfit: 'too_large' };
  const send = {
    id,
    domain: route.domain,
    templateId: broadcast.template_id,
    contactId: contact.id,
    shared: { bodyId: broadcast.body_id ?? '', values: JSON.stringify(values) },
    draft: {
      headerMailboxes: {
        from: broadcast.sender,
        to: [contact.email],
        cc: [],
        bcc: [],
        replyTo: JSON.parse(broadcast.reply_to_list) as string[],
      },
      from: route.from,
      recipients: [parsed.mailbox],
      subject,
      html: null,
      text: null,
      headers: [...headers, ...segmentListId(world, broadcast, route.domain.name)],
      tags: [],
      attachments: [],
      scheduledAt: null,
      topicId: broadcast.topic_id,
    },
  };
  return { send };
}

/** Returns a List-Id for the segment if the broadcast has no topic; the composer sets it for topics. */
function segmentListId(
  { config }: World,
  { segment_id: segmentId, topic_id: topicId }: BroadcastRow,
  domain: string,
): [name: string, value: string][] {
  if (!config.delivery.list_id || segmentId === null || topicId !== null) return [];
  const listId = formatListId(segmentId, domain);
  return listId === undefined ? [] : [['List-Id', listId]];
}

/** Data that all emails of a broadcast share, read again for each turn. */
export interface Route {
  audience: Audience;
  domain: DomainRow;
  from: Mailbox;
  replyTo: Mailbox[];
  /** One for each subject of the broadcast, its own first. */
  mails: readonly MergedMail[];
  /** Origin of the unsubscribe links. */
  origin: string;
  /** The address whose mail unsubscribes, if this server receives it. */
  mailto: string | undefined;
  /** Says whether opens and clicks of its emails are measured; an email without HTML has neither. */
  tracked: Tracked;
  /** Limits the marketing emails that a contact gets. */
  cap: MarketingCap | null;
  /** Finds the end of the quiet hours that a contact has now; undefined if the topic has none. */
  findQuietEnd: Awaited<ReturnType<typeof readQuietHours>>;
}

/**
 * Reads the data that all emails share, or the reason why the broadcast fails because something it needs was deleted.
 */
export async function readRoute(world: World, broadcast: BroadcastRow): Promise<Route | { failed: string }> {
  const { db } = world;
  if (await isTopicGone(db, broadcast)) return { failed: 'topic_deleted' };
  const { team_id: teamId, domain_id: domainId, body_id: bodyId } = broadcast;
  const audience = await loadAudience(db, teamId, broadcast, world.clock.now());
  if ('failed' in audience) return audience;
  const domain = domainId === null ? undefined : await findDomain(db, teamId, domainId);
  if (!domain) return { failed: 'domain_deleted' };
  const body = bodyId === null ? undefined : await findSharedBody(db, bodyId);
  if (!body) throw new Error(`the body of the broadcast ${broadcast.id} is missing`);
  const parsed = await readBody(world, body);
  const properties = await declaredProperties(db, teamId);
  const team = await findTeam(db, teamId);
  if (!team) throw new Error(`team row of the broadcast ${broadcast.id} missing`);
  const fallbacks = readFallbacks(broadcast, { properties, team });
  return {
    audience,
    domain,
    from: parseStoredMailbox(broadcast.sender),
    replyTo: (JSON.parse(broadcast.reply_to_list) as string[]).map(parseStoredMailbox),
    mails: listSubjects(broadcast).map((subject) => mergedMail(subject, parsed, { properties, fallbacks, team })),
    origin: await findLinkOrigin(world, domain.id),
    mailto: await findUnsubscribeAddress(world, domain),
    tracked: parsed.html === null ? { opens: false, clicks: false } : await findTracked(world, domain.id),
    cap: readMarketingCap(team),
    findQuietEnd: await readQuietHours(db, broadcast),
  };
}

/**
 * Reports whether the topic was deleted. No contact is opted in to a deleted topic, so all would be excluded as if they
 * had left it.
 */
async function isTopicGone(db: Executor, { team_id: teamId, topic_id: topicId }: BroadcastRow): Promise<boolean> {
  return topicId !== null && (await findTopic(db, teamId, topicId)) === undefined;
}

export function parseStoredMailbox(text: string): Mailbox {
  const parsed = parseMailbox(text);
  if (!parsed.ok) throw new Error(`a broadcast has an address that cannot be parsed: ${parsed.fault}`);
  return parsed.mailbox;
}
