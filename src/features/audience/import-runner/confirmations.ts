import { createUnleasedLoop, type WorkLoop } from '../../../platform/work-loop/index.ts';
import type { World } from '../../../platform/world.ts';
import { parseMailbox } from '../../../protocol/address/index.ts';
import { confirmationUrl } from '../contacts/preference-links.ts';
import { findContactsByIds, type ContactRow } from '../contacts/contacts.store.ts';
import { hashOfEmail } from '../contacts/consent.store.ts';
import { mayMail, type Exclusion } from '../contacts/consent.ts';
import { findDomainByName, findLinkOrigin } from '../../../mail/domains/index.ts';
import { findPublishedVersion } from '../../templates/index.ts';
import { CONFIRMATION_URL } from '../topics/topics.ts';
import {
  countConfirmationMail,
  dueConfirmations,
  noteConfirmationMailed,
  removeOldConfirmationMails,
  uncountConfirmationMail,
  type ConfirmationRow,
} from '../topics/confirmations.store.ts';
import { findTopic, type TopicRow } from '../topics/topics.store.ts';
import { mailOnce, type Accept } from '../../../mail/accept/index.ts';

/** Needed because requests in other processes do not wake this loop. */
const POLL_MS = 10_000;
const AT_ONCE = 20;

/**
 * Creates the loop that asks contacts by mail to confirm a topic, once per request. The mail is accepted in the same
 * way as any other.
 */
export function createConfirmations(world: World, accept: Pick<Accept, 'acceptEmail'>): WorkLoop {
  const { db, clock, log } = world;
  return createUnleasedLoop<ConfirmationRow>({
    name: 'confirmations of topics',
    db,
    clock,
    log,
    pollMs: POLL_MS,
    atOnceMax: AT_ONCE,
    wakeOn: ['topic_confirmations'],
    due: (limit) => dueConfirmations(db, clock.now(), limit),
    process: (asking) => mail(world, accept, asking),
    describe: ({ contact_id: contactId, topic_id: topicId }) => ({ contactId, topicId }),
  });
}

async function mail(world: World, accept: Pick<Accept, 'acceptEmail'>, asking: ConfirmationRow): Promise<void> {
  const fault = await send(world, accept, asking);
  if (fault !== undefined) {
    const { team_id: teamId, contact_id: contactId, topic_id: topicId } = asking;
    world.log.warn({ teamId, contactId, topicId }, `a contact could not be asked to confirm a topic: ${fault}`);
  }
  const at = world.clock.now();
  await world.db.tx((tx) => noteConfirmationMailed(tx, asking, { at, fault: fault ?? null }));
}

/** Sends the mail. Returns the reason if it could not be sent. */
async function send(
  world: World,
  accept: Pick<Accept, 'acceptEmail'>,
  asking: ConfirmationRow,
): Promise<string | undefined> {
  const { team_id: teamId, contact_id: contactId } = asking;
  const [contact] = await findContactsByIds(world.db, teamId, [contactId]);
  const topic = await findTopic(world.db, teamId, asking.topic_id);
  const excluded = (await mayMail(world.db, teamId, { contactIds: [contactId], topicId: null })).get(contactId);
  if (excluded !== undefined || !contact) return WHY_NOT[excluded ?? 'deleted'];
  const use = topic && (await loadTemplate(world, { contact, topic }));
  if (!use) return 'the topic has no published confirmation template';
  const input = { to: contact.email, template: use };
  const one = { topicId: topic.id, emailHash: hashOfEmail(contact.email_key), askingId: asking.id };
  const isFree = await world.db.tx((tx) => countConfirmationMail(tx, one, world.clock.now()));
  if (!isFree) return 'a confirmation email was sent to the address today, or three times within 30 days';
  const fault = await mailOnce(world, accept, {
    teamId,
    job: 'confirmations',
    input,
    kind: 'topic-confirmation',
    occasion: asking.id,
  });
  if (fault !== undefined) await world.db.tx((tx) => uncountConfirmationMail(tx, one));
  return fault;
}

/** Forgets old confirmation mails, so that their addresses may be mailed again. Returns the number of addresses. */
export const forgetConfirmationMails = (world: World): Promise<number> =>
  removeOldConfirmationMails(world.db, world.clock.now());

const WHY_NOT: Record<Exclusion, string> = {
  deleted: 'the contact is erased',
  unsubscribed: 'the contact has unsubscribed from everything',
  topic_opt_out: 'the contact has opted out',
  suppressed: 'its address is suppressed',
};

async function loadTemplate(world: World, { contact, topic }: { contact: ContactRow; topic: TopicRow }) {
  const { team_id: teamId, confirmation_template_id: id } = topic;
  const version = id === null ? undefined : await findPublishedVersion(world.db, teamId, id);
  if (id === null || !version) return undefined;
  const link = confirmationUrl(world, await chooseOrigin(world, teamId, version.from), { contact, topicId: topic.id });
  const values: Record<string, string> = { [CONFIRMATION_URL]: link, TOPIC_NAME: topic.name };
  return { id, variables: Object.fromEntries(Object.entries(values).filter(([key]) => version.variables.has(key))) };
}

/** Returns the origin of links in mail from this sender. */
export async function chooseOrigin(world: World, teamId: string, from = ''): Promise<string> {
  const parsed = parseMailbox(from);
  const domain = parsed.ok ? await findDomainByName(world.db, teamId, parsed.mailbox.domain) : undefined;
  return domain ? findLinkOrigin(world, domain.id) : world.origin();
}
