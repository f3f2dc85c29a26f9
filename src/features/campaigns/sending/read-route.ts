import type { Executor } from '../../../platform/db/index.ts';
import type { World } from '../../../platform/world/index.ts';
import { parseMailbox, type Mailbox } from '../../../protocol/address/index.ts';
import type { Filter } from '../../../protocol/contact-filter/index.ts';
import { fallbacksOf, mergedMail, subjectsOf, type BroadcastRow, type MergedMail } from '../broadcasts/index.ts';
import { declaredProperties } from '../../audience/contact-properties/index.ts';
import { preferenceOrigin } from '../../audience/contacts/index.ts';
import { findDomain, type DomainRow } from '../../../mail/domains/index.ts';
import { declaredFor, filterOf, findSegment } from '../../audience/segments/index.ts';
import { findSharedBody, readBody } from '../../../mail/shared-bodies/index.ts';
import { findTeam } from '../../../tenancy/teams/index.ts';
import { findTopic } from '../../audience/topics/index.ts';

/** What all emails of a broadcast have in common, read anew for each turn. */
export interface Route {
  filter: Filter;
  domain: DomainRow;
  from: Mailbox;
  replyTo: Mailbox[];
  /** By the subjects that it tries; the first is its own. */
  mails: readonly MergedMail[];
  /** Where the links to leave stand. */
  origin: string;
}

/** Or why the broadcast fails: what it needs is gone for good. */
export async function readRoute(world: World, broadcast: BroadcastRow): Promise<Route | { failed: string }> {
  const { db } = world;
  if (await isTopicGone(db, broadcast)) return { failed: 'topic_deleted' };
  const { team_id: teamId, segment_id: segmentId, domain_id: domainId, body_id: bodyId } = broadcast;
  const segment = segmentId === null ? undefined : await findSegment(db, teamId, segmentId);
  if (!segment) return { failed: 'segment_deleted' };
  const domain = domainId === null ? undefined : await findDomain(db, teamId, domainId);
  if (!domain) return { failed: 'domain_deleted' };
  const body = bodyId === null ? undefined : await findSharedBody(db, bodyId);
  if (!body) throw new Error(`the body of the broadcast ${broadcast.id} is missing`);
  const parsed = await readBody(world, body);
  const properties = await declaredProperties(db, teamId);
  const team = await findTeam(db, teamId);
  if (!team) throw new Error(`team row of the broadcast ${broadcast.id} missing`);
  const fallbacks = fallbacksOf(broadcast, { properties, team });
  return {
    filter: await filterOf(db, segment, await declaredFor(db, teamId)),
    domain,
    from: mailboxOf(broadcast.sender),
    replyTo: (JSON.parse(broadcast.reply_to_list) as string[]).map(mailboxOf),
    mails: subjectsOf(broadcast).map((subject) => mergedMail(subject, parsed, { properties, fallbacks })),
    origin: await preferenceOrigin(world, domain.id),
  };
}

/** No contact is opted in to a topic that is deleted: all would be left out as if they had left it. */
export async function isTopicGone(
  db: Executor,
  { team_id: teamId, topic_id: topicId }: BroadcastRow,
): Promise<boolean> {
  return topicId !== null && (await findTopic(db, teamId, topicId)) === undefined;
}

export function mailboxOf(text: string): Mailbox {
  const parsed = parseMailbox(text);
  if (!parsed.ok) throw new Error(`a broadcast holds an address that cannot be read: ${parsed.fault}`);
  return parsed.mailbox;
}
