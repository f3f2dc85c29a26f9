import type { Executor } from '../../../platform/db/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import type { Subscription } from '../../../protocol/contact-filter/index.ts';
import type { PreferenceLink } from '../../../protocol/preference-links/index.ts';
import { withoutEvent } from '../../../mail/events/index.ts';
import { declaredProperties } from '../contact-properties/index.ts';
import { emailRowsByIds, recordEmailEvents } from '../../../mail/emails/index.ts';
import { findTeam, type TeamRow } from '../../../tenancy/teams/index.ts';
import { choicesOf, forgetConfirmations, liveTopics, type Choice, type TopicRow } from '../topics/index.ts';
import { optOutsAmong, type Consent, type ConsentOrigin, type ConsentSource } from './consent.store.ts';
import { findContact, type ContactRow } from './contacts.store.ts';
import { leaveWithoutContact } from './opt-outs.ts';
import { chooseTopics, decisionsFor, writeChange } from './write-change.ts';

export interface TopicPreference {
  id: string;
  name: string;
  description: string | null;
  subscription: Subscription;
}

/** What the holder of a link may see and choose. */
export interface Preferences {
  team: TeamRow;
  /** Undefined once it is erased. Its address is shown only by a link of mail that went to it. */
  contact: Pick<ContactRow, 'email'> | undefined;
  isUnsubscribed: boolean;
  /** False for a suspended team; and only a link of mail to the address may say that it wants more. */
  mayJoin: boolean;
  /** What the mail was about; undefined for mail without a topic, and once the topic is deleted. */
  topic: TopicPreference | undefined;
  /** Public topics, and those that the contact takes part in. */
  topics: TopicPreference[];
}

/** What a press of a button asks for. */
export type PreferenceChange =
  /** The topic of the mail, or everything where it has none. */
  | { do: 'unsubscribe' }
  | { do: 'subscribe' }
  | { do: 'unsubscribe_all' }
  | { do: 'subscribe_all' }
  /** Of the topics that were shown, those that were chosen. */
  | { do: 'save'; shown: ReadonlySet<string>; chosen: ReadonlySet<string> };

/** Undefined where there is no such team. */
export const readPreferences = (store: Store, link: PreferenceLink): Promise<Preferences | undefined> =>
  look(store.db, link, undefined);

/** Does what was asked, as often as it is asked, and answers what holds then. */
export function changePreferences(
  store: Store,
  link: PreferenceLink,
  change: PreferenceChange,
  source: ConsentSource,
): Promise<Preferences | undefined> {
  return store.db.tx(async (tx) => {
    const before = await look(tx, link, undefined);
    const row = await contactOf(tx, link, true);
    if (!before) return undefined;
    const origin: ConsentOrigin = { source, emailId: link.emailId };
    if (row) await apply(store, tx, { link, row, before, change, origin });
    if (row?.email_key !== link.emailKey) await leaveByAddress(store, tx, { link, row, before, change, origin });
    // A private topic that was just left stays in sight, so that there is a way back.
    const after = await look(tx, link, new Set(before.topics.map(({ id }) => id)));
    if (after && hasLeft(before, after)) await recordLeaving(store, tx, link);
    return after;
  });
}

/** What the mail was about, or everything. */
const hasLeft = (before: Preferences, after: Preferences): boolean =>
  (after.isUnsubscribed && !before.isUnsubscribed) ||
  (after.topic?.subscription === 'opt_out' && before.topic?.subscription === 'opt_in');

/** Of the email that the link stands in, once, however often its reader comes back and leaves; while the email is kept. */
async function recordLeaving(store: Store, tx: Executor, { emailId, teamId }: PreferenceLink): Promise<void> {
  if (emailId === null) return;
  // A second press of the button at the same time waits for the contact's row.
  const [isFirst] = await withoutEvent(tx, [emailId], 'email.unsubscribed');
  const [email] = isFirst === undefined ? [] : await emailRowsByIds(tx, [emailId]);
  if (email?.team_id !== teamId) return;
  const at = store.clock.now();
  await recordEmailEvents(tx, store.ids, [{ type: 'email.unsubscribed', email, at, isFirst: true }]);
}

/** The address that the mail went to is no contact's, or not this one's any more. */
async function leaveByAddress(
  store: Store,
  tx: Executor,
  { link, row, before: { topic }, change, origin }: Omit<Applying, 'row'> & { row: ContactRow | undefined },
): Promise<void> {
  if (change.do !== 'unsubscribe' && change.do !== 'unsubscribe_all') return;
  // What is noted of the address is no act of a contact that has another one by now.
  const contact = { team_id: link.teamId, id: row ? store.ids.uuid() : link.contactId, email_key: link.emailKey };
  const isOfTopic = change.do === 'unsubscribe' && topic !== undefined;
  const leaving: Consent = isOfTopic
    ? { contact, action: 'opt_out', topicId: topic.id }
    : { contact, action: 'unsubscribed' };
  await leaveWithoutContact(store, tx, leaving, origin);
}

interface Applying {
  link: PreferenceLink;
  row: ContactRow;
  before: Preferences;
  change: PreferenceChange;
  origin: ConsentOrigin;
}

async function apply(store: Store, tx: Executor, { link, row, before, change, origin }: Applying): Promise<void> {
  const { topic } = before;
  const setAll = async (unsubscribed: boolean): Promise<void> => {
    if (unsubscribed === (row.unsubscribed === 1)) return;
    const declared = await declaredProperties(tx, row.team_id);
    await writeChange(store, tx, { before: row, change: { unsubscribed }, declared, ...origin });
  };
  const choose = async (choices: readonly Choice[]): Promise<void> => {
    await chooseTopics(store, tx, decisionsFor([row], choices), origin);
    await forgetConfirmations(
      tx,
      row.id,
      choices.map(({ id }) => id),
    );
  };
  const joins = change.do === 'subscribe' || change.do === 'subscribe_all' || change.do === 'save';
  if (joins && !(before.mayJoin && row.email_key === link.emailKey)) return;
  switch (change.do) {
    case 'unsubscribe':
      // What mail comes instead of a deleted topic is not known, so that leaving it leaves everything.
      return topic ? choose([{ id: topic.id, subscription: 'opt_out' }]) : setAll(true);
    case 'subscribe':
      if (topic) return choose([{ id: topic.id, subscription: 'opt_in' }]);
      // To confirm a topic says nothing of everything.
      return link.kind === 'confirmation' ? undefined : setAll(false);
    case 'unsubscribe_all':
      return setAll(true);
    case 'subscribe_all':
      return setAll(false);
    case 'save':
      return choose(choicesIn(before.topics, change));
  }
}

/** Only what differs: what was left as it was is no decision. */
function choicesIn(
  topics: readonly TopicPreference[],
  { shown, chosen }: Extract<PreferenceChange, { do: 'save' }>,
): Choice[] {
  return topics
    .filter(({ id }) => shown.has(id))
    .map(({ id, subscription }) => ({ id, subscription, wanted: chosen.has(id) ? 'opt_in' : 'opt_out' }) as const)
    .filter(({ subscription, wanted }) => subscription !== wanted)
    .map(({ id, wanted }) => ({ id, subscription: wanted }));
}

/**
 * Whose address the mail went to, also where it was erased and is back. By its id a contact is found that has another
 * address by now: nothing goes to the one of the mail any more, and a wish to leave is obeyed.
 */
async function contactOf(
  db: Executor,
  { teamId, contactId, emailKey }: PreferenceLink,
  isHeld: boolean,
): Promise<ContactRow | undefined> {
  const known = await findContact(db, teamId, { id: contactId }, isHeld);
  if (known?.email_key === emailKey) return known;
  return (await findContact(db, teamId, { emailKey }, isHeld)) ?? known;
}

async function look(
  db: Executor,
  link: PreferenceLink,
  alsoShown: ReadonlySet<string> | undefined,
): Promise<Preferences | undefined> {
  const team = await findTeam(db, link.teamId);
  if (!team) return undefined;
  const contact = await contactOf(db, link, false);
  const isOwn = contact?.email_key === link.emailKey;
  const live = await liveTopics(db, team.id);
  const left = contact ? undefined : (await optOutsAmong(db, team.id, [link.emailKey])).get(link.emailKey);
  const chosen = contact
    ? new Map((await choicesOf(db, [contact.id])).map((row) => [row.topic_id, row.subscription]))
    : new Map(left?.topicIds.map((id) => [id, 'opt_out' as const]));
  const seen = (row: TopicRow): TopicPreference => {
    const { id, name, description, default_subscription } = row;
    return { id, name, description, subscription: chosen.get(id) ?? default_subscription };
  };
  const topic = live.find(({ id }) => id === link.topicId);
  const isListed = (row: TopicRow): boolean =>
    row.visibility === 'public' || seen(row).subscription === 'opt_in' || (alsoShown?.has(row.id) ?? false);
  return {
    team,
    contact: contact && { email: isOwn ? contact.email : link.emailKey },
    isUnsubscribed: contact ? contact.unsubscribed === 1 : (left?.all ?? false),
    mayJoin: isOwn && team.risk_state !== 'suspended',
    topic: topic && seen(topic),
    topics: contact ? live.filter(isListed).map(seen) : [],
  };
}
