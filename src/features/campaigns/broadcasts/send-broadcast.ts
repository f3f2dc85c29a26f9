import type { SendBroadcastRequest } from '../../../contract/index.ts';
import type { Executor } from '../../../platform/db/index.ts';
import { listBroadcastPools, type Config } from '../../../platform/config/index.ts';
import { invalidField, notFound, refuse, type Refusal } from '../../../platform/refusal.ts';
import { mustBeUnchanged, readApproved, type Approved, type Ctx } from '../../../tenancy/access/index.ts';
import { noteBroadcastImages } from '../../templates/index.ts';
import { notTogether } from './ab-test.ts';
import {
  findBeingRemoved,
  findBroadcast,
  lockBroadcast,
  markSent,
  type BroadcastRow,
  type BroadcastContent,
  type BroadcastStatus,
} from './broadcasts.store.ts';
import {
  mustPass,
  freezeBroadcast,
  prepareContent,
  refuseTooMany,
  mustStillHold,
  repeatWhileChanged,
  loadSource,
  type PreparedContent,
  type Source,
} from './freeze-broadcast.ts';
import { loadReviewStatus, type ReviewStatus } from './reviews.ts';
import { readWhen, type When } from './send-time.ts';
import type { Store } from '../../../platform/store.ts';
import { parseMailbox } from '../../../protocol/address/index.ts';
import { findTopic } from '../../audience/index.ts';
import { countRecipients, listEarlier, loadAudience, type CountedAudience, type Target } from './audience.ts';
import { findDomainByName, findSendingDomain, maySend, type DomainRow } from '../../../mail/domains/index.ts';
import { createSendSwitch, type SendSwitch } from '../../../tenancy/instance/index.ts';
import { findTeam } from '../../../tenancy/teams/index.ts';
import { loadPlan, loadUsage } from '../../../tenancy/usage/index.ts';

const IN_WORDS: Record<BroadcastStatus, string> = {
  draft: 'a draft',
  scheduled: 'scheduled',
  queued: 'queued',
  sending: 'being sent',
  sent: 'sent',
  canceled: 'canceled',
  failed: 'one that failed',
};

/** Returns the refusal of a change that requires another status. */
export const inOtherStatus = ({ status }: Pick<BroadcastRow, 'status'>, rule: string, code: 400 | 403): Refusal =>
  refuse('validation_error', { status: code, say: `This broadcast is ${IN_WORDS[status]}; ${rule}.` });

/** Starts sending a draft. Only its status changes here; the emails are created afterwards, page by page. */
export async function sendBroadcast({ store, teamId, actor }: Ctx, id: string, input: SendBroadcastRequest = {}) {
  // Clients with typed fields, such as that of Go, write an empty text for a time that was not given.
  const when = readWhen(input.scheduled_at || undefined, store.clock.now());
  await repeatWhileChanged(async () => {
    const seen = await findBroadcast(store.db, teamId, id);
    if (!seen) throw notFound('Broadcast');
    const around = await loadRequirements(store, teamId, seen);
    const prepared = seen.status === 'draft' ? await prepareContent(store, seen) : undefined;
    await store.db.tx(async (tx) => {
      const row = await lockBroadcast(tx, teamId, id);
      if (!row) throw notFound('Broadcast');
      if (row.status !== 'draft') throw inOtherStatus(row, 'only a draft can be sent', 403);
      mustBeUnchanged(actor, row, input.unchanged_since);
      await sendDraft(store, tx, row, {
        around,
        prepared,
        when,
        isLocal: input.local_time ?? row.local_time === 1,
        isAcknowledged: input.acknowledge_checks === true,
        approved: readApproved(actor),
      });
    });
  });
  return { id };
}

interface Sending {
  around: Surroundings;
  /** Made before the transaction, because others wait for it. */
  prepared: PreparedContent | undefined;
  when: When | null;
  isLocal: boolean;
  isAcknowledged: boolean;
  approved: Approved;
}

/** Sends a draft unless a requirement is not met; from then on neither content nor sender changes. */
export async function sendDraft(
  store: Ctx['store'],
  tx: Executor,
  row: BroadcastRow,
  { around, prepared, when, isLocal, isAcknowledged, approved }: Sending,
): Promise<void> {
  if (isLocal && when === null) throw localTimeOfNow();
  if (isLocal && row.ab_test !== null) throw notTogether();
  mustBeOffered(store.config, row.pool);
  const gate = await runGate(store, tx, { teamId: row.team_id, row, around });
  const refusal = toRefusal(gate);
  const { domain, source } = gate;
  if (refusal || !domain || !source) throw refusal ?? new Error('domain or body missing after the gate passed');
  // Before the checks, so that no image that they find is deleted in the meantime.
  await noteBroadcastImages(tx, row, source);
  const { checks, bodies, tooMany } = await mustStillHold(store, tx, { row, source, before: prepared });
  // Refused even if the checks were acknowledged.
  if (tooMany) throw refuseTooMany(tooMany);
  if (!isAcknowledged) mustPass(checks);
  const pinned = await freezeBroadcast(store, tx, row, { source, bodies, domainId: domain.id });
  await markSent(tx, row.id, { pinned, when, isLocal, isAcknowledged, approved, at: store.clock.now() });
}

/** Refuses a pool that broadcasts may not choose. */
export function mustBeOffered(config: Config, pool: string | null | undefined): void {
  const offered = listBroadcastPools(config);
  if (pool === null || pool === undefined || offered.includes(pool)) return;
  const known =
    offered.length === 0
      ? 'The operator of this server offers none; omit it.'
      : `Broadcasts may choose ${offered.toSorted().join(', ')}.`;
  throw invalidField('pool', `pool does not match a pool that broadcasts may choose. ${known}`);
}

function localTimeOfNow() {
  const message = 'local_time requires scheduled_at, the local time at which each contact gets the email.';
  return refuse('validation_error', { status: 422, say: message, errors: [{ path: 'local_time', message }] });
}

export const NO_POSTAL_ADDRESS =
  'The team has no postal address, which marketing mail must contain; set it with PATCH /team.';

type GateName = 'domain' | 'postal_address' | 'segment' | 'marketing' | 'team' | 'body' | 'quota' | 'review';

interface GateItem {
  name: GateName;
  ok: boolean;
  message: string;
}

/** Requirements of a send in their order, and what was read to check them. */
interface Gate {
  items: GateItem[];
  /** All sending is switched off, not only marketing mail. */
  isAllOff: boolean;
  domain: DomainRow | undefined;
  source: Source | undefined;
}

/** Values that are read before the transaction of a send. */
interface Surroundings {
  sending: SendSwitch;
  marketing: SendSwitch;
  /** Who would get it; undefined if that is not known, for instance without a segment. */
  counted: CountedAudience | undefined;
}

type Sent = Pick<BroadcastContent, 'sender' | 'template_id' | 'html' | 'text'> & Target;

/**
 * Reads what a send needs from outside its transaction. The count takes long for a large segment, and is an estimate:
 * membership is evaluated again during sending.
 */
export async function loadRequirements(store: Store, teamId: string, sent: Sent): Promise<Surroundings> {
  const parsed = parseMailbox(sent.sender);
  // With `development.any_sender` this creates the domain, which the transaction of the send then finds.
  if (parsed.ok) await findSendingDomain(store, teamId, parsed.mailbox.domain);
  const audience = await loadAudience(store.db, teamId, sent, store.clock.now());
  const isKnown = !('failed' in audience);
  return {
    sending: await createSendSwitch(store)(),
    marketing: await createSendSwitch(store, 'sending.marketing')(),
    counted: isKnown
      ? await countRecipients(store.db, teamId, { audience, topicId: sent.topic_id, now: store.clock.now() })
      : undefined,
  };
}

export async function runGate(
  store: Store,
  tx: Executor,
  { teamId, row, around }: { teamId: string; row: BroadcastRow; around: Surroundings },
): Promise<Gate> {
  const parsed = parseMailbox(row.sender);
  const domainName = parsed.ok ? parsed.mailbox.domain : '';
  const domain = await findDomainByName(tx, teamId, domainName);
  const team = await findTeam(tx, teamId);
  const source = await loadSource(tx, { ...row, team_id: teamId });
  const off = [around.sending, around.marketing].find(({ isOn }) => !isOn);
  const items: GateItem[] = [
    domainItem(domain, domainName),
    team?.postal_address
      ? good('postal_address', 'The team has a postal address.')
      : bad('postal_address', NO_POSTAL_ADDRESS),
    await audienceItem(tx, { teamId, row, now: store.clock.now() }),
    off
      ? bad('marketing', `Marketing mail is switched off on this installation${off.reason ? ` (${off.reason})` : ''}.`)
      : good('marketing', 'Marketing mail is switched on.'),
    team?.risk_state === 'suspended'
      ? bad('team', 'The team is suspended and cannot send.')
      : good('team', 'The team may send.'),
    bodyItem(source),
    await quotaItem(store, tx, teamId, around.counted?.recipients),
    ...(row.require_review === 1 ? [reviewItem(await loadReviewStatus(tx, row))] : []),
  ];
  return { items, isAllOff: !around.sending.isOn, domain, source };
}

const domainItem = (domain: DomainRow | undefined, name: string): GateItem =>
  domain && maySend(domain)
    ? good('domain', `${name} is verified.`)
    : bad('domain', `from: the domain ${name} is not verified for this team, or its sending is disabled.`);

/** Checks the audience. A deleted topic excludes every contact, because none is opted in to it. */
async function audienceItem(
  tx: Executor,
  { teamId, row, now }: { teamId: string; row: Sent; now: number },
): Promise<GateItem> {
  const { topic_id: topicId } = row;
  const audience = await loadAudience(tx, teamId, row, now);
  if ('failed' in audience) return bad('segment', audience.message);
  const removed = await findBeingRemoved(tx, listEarlier(row));
  if (removed) {
    const name = JSON.stringify(removed.name);
    return bad(
      'segment',
      `The waiting emails of the canceled broadcast ${name} are being removed; try again in a minute.`,
    );
  }
  if (topicId !== null && !(await findTopic(tx, teamId, topicId))) {
    return bad(
      'segment',
      'topic_id does not match a topic of this team, so nobody is subscribed to it; choose another, or null.',
    );
  }
  const [first, ...others] = audience.segments.map(({ name }) => name);
  if (others.length === 0) return good('segment', `The segment is ${first}.`);
  return good('segment', `The segments are ${[first, ...others].join(', ')}.`);
}

const bodyItem = (body: Source | string | undefined): GateItem =>
  body ? good('body', 'There is a body.') : bad('body', 'There is no body; add html, text or a published template.');

/**
 * Refuses a test that a send would also refuse, except for a missing segment or postal address: a test goes to no list.
 */
export function mustBeTestable(
  domain: DomainRow | undefined,
  domainName: string,
  body: Source | string | undefined,
): void {
  const refusal = toRefusal({ items: [domainItem(domain, domainName), bodyItem(body)], isAllOff: false });
  if (refusal) throw refusal;
}

async function quotaItem(store: Store, tx: Executor, teamId: string, recipients = 0): Promise<GateItem> {
  const { marketing_emails: max } = await loadPlan(store, tx, teamId);
  const used = (await loadUsage(tx, teamId, store.clock.now())).monthly.marketing;
  if (used + recipients <= max) return good('quota', 'The plan has enough marketing emails left for the segment.');
  return bad(
    'quota',
    `The plan of this team includes ${max} marketing emails a month, and ${used} are used; this broadcast needs ${recipients}.`,
  );
}

const REVIEWED: Record<ReviewStatus, string> = {
  approved: 'The content was approved.',
  none: 'The content must be approved first, and nobody has reviewed it; share its page with allow_review.',
  changes_requested: 'The content must be approved first, and its last review requests changes.',
  outdated: 'The content must be approved first, and it was changed after its last review.',
};

const reviewItem = (status: ReviewStatus): GateItem =>
  status === 'approved' ? good('review', REVIEWED[status]) : bad('review', REVIEWED[status]);

const good = (name: GateName, message: string): GateItem => ({ name, ok: true, message });
const bad = (name: GateName, message: string): GateItem => ({ name, ok: false, message });

/** Returns the refusal for the first requirement that is not met; undefined if all are met. */
function toRefusal({ items, isAllOff }: Pick<Gate, 'items' | 'isAllOff'>): Refusal | undefined {
  const first = items.find(({ ok }) => !ok);
  if (!first) return undefined;
  if (first.name === 'quota') return refuse('marketing_quota_exceeded', { say: first.message });
  const status = first.name === 'marketing' || first.name === 'team' ? 403 : 422;
  const reason = toReasonCode(first.name, isAllOff);
  return refuse('validation_error', { status, say: first.message, ...(reason && { details: { reason } }) });
}

function toReasonCode(name: GateName, isAllOff: boolean): string | undefined {
  if (name === 'postal_address') return 'no_postal_address';
  if (name === 'review') return 'review_required';
  if (name !== 'marketing') return undefined;
  return isAllOff ? 'sending_off' : 'marketing_off';
}
