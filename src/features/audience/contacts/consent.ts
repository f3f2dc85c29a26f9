import type { Executor, Page } from '../../../platform/db/index.ts';
import type { Store } from '../../../platform/store.ts';
import type { Subscription } from '../../../protocol/contact-filter/index.ts';
import type { PreferenceLink } from '../../../protocol/preference-links.ts';
import { withoutEvent } from '../../../mail/events/index.ts';
import { declaredProperties } from '../contact-properties/contact-properties.store.ts';
import { emailRowsByIds, recordEmailEvents } from '../../../mail/emails/index.ts';
import { findTeam, type TeamRow } from '../../../tenancy/teams/index.ts';
import { listChoices, liveTopics, listTopicRows, type TopicRow } from '../topics/topics.store.ts';
import {
  forgetConfirmations,
  forgetConfirmationsOfEach,
  listConfirmations,
  writeConfirmations,
} from '../topics/confirmations.store.ts';
import { readChoices, type Choice } from '../topics/topics.ts';
import {
  optOutsAmong,
  recordConsent,
  type Consent,
  type ConsentOrigin,
  type ConsentSource,
  type Decider,
} from './consent.store.ts';
import { findContact, unsubscribeContactRows, findContactsByIds, type ContactRow } from './contacts.store.ts';
import { chooseTopics, decisionsFor, writeChange, type Decision } from './write-contact.ts';
import type { Actor, Ctx } from '../../../tenancy/access/index.ts';
import { describeActor } from '../../../tenancy/audit/index.ts';
import { findContactLanguage, findLanguageProperty } from '../readers/reader-language.ts';
import type { Language } from '../readers/reader-texts.ts';
import { contactNamed } from './find-contact.ts';
import { findMailedToken, openPreferenceLink } from './preference-links.ts';
import { suppressionsAmong } from '../../../mail/suppressions/index.ts';

/**
 * Applies earlier opt-outs of the addresses to their contacts. An opt-out belongs to the address and survives the
 * deletion of its contact, because the consent records store a hash of the address. `hasConsent` is a team's own
 * statement that an address wants its mail again.
 */
export async function applyErasedOptOuts(
  store: Store,
  tx: Executor,
  contacts: readonly ContactRow[],
  { hasConsent, by }: { hasConsent: boolean; by?: Decider },
): Promise<ContactRow[]> {
  const [first] = contacts;
  if (!first) return [];
  // Read after the insert, so that an opt-out from before it is found.
  const keys = contacts.map((row) => row.email_key);
  const found = await optOutsAmong(tx, first.team_id, keys);
  if (found.size === 0) return [...contacts];
  const isOut = ({ email_key: key }: ContactRow): boolean => found.get(key)?.all ?? false;
  if (hasConsent) await recordConsent(store, tx, decidedBy(by), contacts.filter(isOut).map(decision('resubscribed')));
  const leaving = hasConsent ? [] : contacts.filter((row) => isOut(row) && row.unsubscribed === 0);
  if (leaving.length > 0) await unsubscribe(store, tx, first.team_id, leaving);
  await leaveTopics(store, tx, contacts, found);
  const left = new Set(leaving);
  return contacts.map((row) => (left.has(row) ? { ...row, unsubscribed: 1 } : row));
}

const CARRIED: ConsentOrigin = { source: 'carried_over' };

/** The origin of a decision that came by the API. */
const decidedBy = (by: Decider | undefined): ConsentOrigin => ({ source: 'api', ...(by && { by }) });

/** Names the caller who decides for a contact. */
export function readDecider(actor: Actor): Decider {
  const { actor_kind: kind, actor_id: id } = describeActor(actor);
  return { kind, id };
}

const decision =
  (action: Consent['action']) =>
  (contact: ContactRow): Consent => ({ contact, action });

async function unsubscribe(store: Store, tx: Executor, teamId: string, rows: readonly ContactRow[]): Promise<void> {
  const ids = rows.map(({ id }) => id);
  await unsubscribeContactRows(tx, teamId, ids);
  await recordConsent(store, tx, CARRIED, rows.map(decision('unsubscribed')));
}

async function leaveTopics(
  store: Store,
  tx: Executor,
  contacts: readonly ContactRow[],
  found: Awaited<ReturnType<typeof optOutsAmong>>,
): Promise<void> {
  const all = contacts.flatMap((contact) =>
    (found.get(contact.email_key)?.topicIds ?? []).map((id) => ({ contact, id })),
  );
  const [first] = all;
  if (!first) return;
  const live = new Set((await liveTopics(tx, first.contact.team_id)).map(({ id }) => id));
  const decisions = all
    .filter(({ id }) => live.has(id))
    .map(({ contact, id }) => ({ contact, choice: { id, subscription: 'opt_out' as const } }));
  await chooseTopics(store, tx, decisions, CARRIED);
}

/**
 * Applies a change of address: opt-outs of the contact are recorded for the new address too, and the contact gets the
 * earlier opt-outs of that address.
 */
export async function copyToAddress(
  store: Store,
  tx: Executor,
  contact: ContactRow,
  { hasConsent, by }: { hasConsent: boolean; by: Decider },
): Promise<ContactRow> {
  const known = (await optOutsAmong(tx, contact.team_id, [contact.email_key])).get(contact.email_key);
  const left = (await listChoices(tx, [contact.id])).filter(({ subscription }) => subscription === 'opt_out');
  await recordConsent(store, tx, CARRIED, [
    ...(contact.unsubscribed === 1 && !known?.all ? [{ contact, action: 'unsubscribed' as const }] : []),
    ...left
      .filter(({ topic_id: id }) => !known?.topicIds.includes(id))
      .map(({ topic_id: id }): Consent => ({ contact, action: 'opt_out', topicId: id })),
  ]);
  const [carried = contact] = await applyErasedOptOuts(store, tx, [contact], { hasConsent, by });
  return carried;
}

/**
 * Leaves out the opt-ins to topics that their contact has left itself. Whoever writes many contacts by a rule does not know
 * that a person wants a topic again.
 */
export async function withoutTopicsLeft(tx: Executor, decisions: readonly Decision[]): Promise<Decision[]> {
  const joining = decisions.filter(({ choice }) => choice.subscription === 'opt_in');
  const [first] = joining;
  if (!first) return [...decisions];
  const keys = [...new Set(joining.map(({ contact }) => contact.email_key))];
  const left = await optOutsAmong(tx, first.contact.team_id, keys, { isOwn: true });
  return decisions.filter(
    ({ contact, choice }) =>
      choice.subscription === 'opt_out' || left.get(contact.email_key)?.topicIds.includes(choice.id) !== true,
  );
}

/** Reports whether a contact has unsubscribed from everything itself. */
export const hasLeftItself = async (db: Executor, contact: ContactRow): Promise<boolean> =>
  (await optOutsAmong(db, contact.team_id, [contact.email_key], { isOwn: true })).get(contact.email_key)?.all ?? false;

/** Records an opt-out of an address without a contact: the next contact with that address starts unsubscribed. */
async function leaveWithoutContact(store: Store, tx: Executor, leaving: Consent, origin: ConsentOrigin): Promise<void> {
  const { contact, topicId } = leaving;
  const known = (await optOutsAmong(tx, contact.team_id, [contact.email_key])).get(contact.email_key);
  if (topicId === undefined ? known?.all : known?.topicIds.includes(topicId)) return;
  await recordConsent(store, tx, origin, [leaving]);
}

/**
 * Minimum time before a contact that was mailed is asked again. The limit for an address is enforced when the mail is
 * sent.
 */
const ASKED_AGAIN_MS = 24 * 3_600_000;

/** Lists every topic of the team, with the contact's own choice if there is one. */
export async function listContactTopics({ store, teamId }: Ctx, name: string, page: Page) {
  const contact = await contactNamed(store.db, teamId, name);
  const { rows, hasMore } = await listTopicRows(store.db, teamId, page);
  const chosen = await chosenBy(store.db, contact.id);
  const asked = new Map((await listConfirmations(store.db, contact.id)).map((row) => [row.topic_id, row]));
  const data = rows.map(({ id, name: called, description, default_subscription }) => {
    const asking = asked.get(id);
    const confirmation = asking ? ((asking.fault === null ? 'pending' : 'failed') as 'pending' | 'failed') : null;
    return { id, name: called, description, subscription: chosen.get(id) ?? default_subscription, confirmation };
  });
  return { object: 'list' as const, has_more: hasMore, data };
}

export async function updateContactTopics({ store, teamId, actor }: Ctx, name: string, given: readonly Choice[]) {
  return store.db.tx(async (tx) => {
    const contact = await contactNamed(tx, teamId, name, true);
    const live = await liveTopics(tx, teamId);
    const topics = await chooseByApi(store, tx, contact, {
      choices: readChoices(given, live),
      live,
      by: readDecider(actor),
    });
    return { object: 'contact_topics' as const, id: contact.id, contact_id: contact.id, topics };
  });
}

/**
 * Writes the choices that the API makes for a contact, and returns the choices in effect. If a topic requires
 * confirmation, the contact is asked, and is not opted in before it confirms.
 */
export async function chooseByApi(
  store: Store,
  tx: Executor,
  contact: ContactRow,
  {
    choices,
    live,
    by,
    depth = 0,
  }: { choices: readonly Choice[]; live: readonly TopicRow[]; by: Decider; depth?: number },
): Promise<Choice[]> {
  const [chosen = []] = await chooseAllByApi(store, tx, [{ contact, choices }], { live, by, depth });
  return chosen;
}

/** Writes the choices of different contacts, as `chooseByApi` does, and returns those in effect in the same order. */
export async function chooseAllByApi(
  store: Store,
  tx: Executor,
  choosing: readonly { contact: ContactRow; choices: readonly Choice[] }[],
  { live, ...origin }: { live: readonly TopicRow[]; by: Decider } & Pick<ConsentOrigin, 'depth' | 'batch'>,
): Promise<Choice[][]> {
  if (choosing.every(({ choices }) => choices.length === 0)) return choosing.map(() => []);
  const asking = new Set(live.filter(({ confirmation }) => confirmation === 'required').map(({ id }) => id));
  const ids = choosing.map(({ contact }) => contact.id);
  const before = asking.size === 0 ? [] : await listChoices(tx, ids);
  const optedIn = new Set(
    before.filter((row) => row.subscription === 'opt_in').map((row) => `${row.contact_id} ${row.topic_id}`),
  );
  const waits = ({ id: contactId }: ContactRow, { id, subscription }: Choice): boolean =>
    subscription === 'opt_in' && asking.has(id) && !optedIn.has(`${contactId} ${id}`);
  const written = choosing.map(({ contact, choices }) => ({
    contact,
    choices: choices.filter((choice) => !waits(contact, choice)),
  }));
  const decisions = written.flatMap(({ contact, choices }) => decisionsFor([contact], choices));
  await chooseTopics(store, tx, decisions, { source: 'api', ...origin });
  await forgetConfirmationsOfEach(
    tx,
    decisions.map(({ contact, choice }) => ({ contact_id: contact.id, topic_id: choice.id })),
  );
  for (const { contact, choices } of choosing) {
    const asked = choices.filter((choice) => waits(contact, choice)).map(({ id }) => id);
    if (asked.length > 0) await ask(store, tx, contact, asked);
  }
  return choosing.map(({ contact, choices }) =>
    choices.map((choice) => (waits(contact, choice) ? { id: choice.id, subscription: 'opt_out' } : choice)),
  );
}

async function ask(store: Store, tx: Executor, contact: ContactRow, topicIds: readonly string[]): Promise<void> {
  const now = store.clock.now();
  const standing = (await listConfirmations(tx, contact.id)).filter((row) => {
    return row.fault === null && (row.mailed_at ?? row.asked_at) > now - ASKED_AGAIN_MS;
  });
  const known = new Set(standing.map((row) => row.topic_id));
  const fresh = topicIds
    .filter((id) => !known.has(id))
    .map((id) => ({
      contact_id: contact.id,
      topic_id: id,
      team_id: contact.team_id,
      id: store.ids.uuid(),
      asked_at: now,
      mailed_at: null,
      fault: null,
    }));
  if (fresh.length > 0) await writeConfirmations(tx, fresh);
}

/**
 * Asks the new address of a contact for confirmation again, because what the previous address was asked or has
 * confirmed does not count for it. Waits until a day has passed since the contact was last asked.
 */
export async function askAnew(store: Store, tx: Executor, contact: ContactRow, by: Decider): Promise<void> {
  const live = await liveTopics(tx, contact.team_id);
  const chosen = await chosenBy(tx, contact.id);
  const confirmed = live.filter(({ id, confirmation }) => confirmation === 'required' && chosen.get(id) === 'opt_in');
  const taken = confirmed.map(({ id }) => ({ id, subscription: 'opt_out' as const }));
  await chooseTopics(store, tx, decisionsFor([contact], taken), { source: 'api', by });
  const now = store.clock.now();
  const standing = await listConfirmations(tx, contact.id);
  const again = standing.map((row) => {
    const wasMailed = row.mailed_at !== null && row.fault === null;
    const asked_at = wasMailed ? Math.max(now, row.asked_at + ASKED_AGAIN_MS) : row.asked_at;
    return { ...row, id: store.ids.uuid(), asked_at, mailed_at: null, fault: null };
  });
  if (again.length > 0) await writeConfirmations(tx, again);
  await ask(
    store,
    tx,
    contact,
    confirmed.map(({ id }) => id),
  );
}

const chosenBy = async (db: Executor, contactId: string) =>
  new Map((await listChoices(db, [contactId])).map(({ topic_id, subscription }) => [topic_id, subscription]));

/** Reason why marketing mail must not be sent to a contact. */
export type Exclusion = 'deleted' | 'unsubscribed' | 'topic_opt_out' | 'suppressed';

interface MailedContact {
  isUnsubscribed: boolean;
  /** The contact's own choice for the topic of the mail, or the topic's default; undefined if the mail has no topic. */
  subscription: Subscription | undefined;
  isSuppressed: boolean;
}

/**
 * Returns the reason not to mail a contact. The person's own decision takes precedence over what is known of the
 * address.
 */
function findExclusion(contact: MailedContact | undefined): Exclusion | undefined {
  if (!contact) return 'deleted';
  if (contact.isUnsubscribed) return 'unsubscribed';
  if (contact.subscription === 'opt_out') return 'topic_opt_out';
  return contact.isSuppressed ? 'suppressed' : undefined;
}

/**
 * Returns the contacts that must not get marketing mail, with the reasons; all others may. A deleted topic counts as
 * one that no contact chose.
 */
export async function mayMail(
  db: Executor,
  teamId: string,
  {
    contactIds,
    topicId,
    isForced = false,
  }: {
    contactIds: readonly string[];
    topicId: string | null;
    /** The choices of the contacts do not matter: only those are excluded that were deleted or are suppressed. */
    isForced?: boolean;
  },
): Promise<Map<string, Exclusion>> {
  const contacts = new Map((await findContactsByIds(db, teamId, contactIds)).map((row) => [row.id, row]));
  const pairs = [...contacts.values()].map((row) => [teamId, row.email_key] as const);
  const suppressed = new Set((await suppressionsAmong(db, pairs)).map((row) => row.email_key));
  const topic = topicId === null ? undefined : (await liveTopics(db, teamId)).find(({ id }) => id === topicId);
  const choices = topic ? await listChoices(db, contactIds) : [];
  const chosen = new Map(
    choices.filter((row) => row.topic_id === topicId).map((row) => [row.contact_id, row.subscription]),
  );
  const excluded = new Map<string, Exclusion>();
  for (const id of contactIds) {
    const row = contacts.get(id);
    const why = findExclusion(
      row && {
        isUnsubscribed: !isForced && row.unsubscribed === 1,
        subscription:
          isForced || topicId === null ? undefined : (chosen.get(id) ?? topic?.default_subscription ?? 'opt_out'),
        isSuppressed: suppressed.has(row.email_key),
      },
    );
    if (why) excluded.set(id, why);
  }
  return excluded;
}

export interface TopicPreference {
  id: string;
  name: string;
  description: string | null;
  subscription: Subscription;
}

/** Preferences that the holder of a link may see and change. */
export interface Preferences {
  team: TeamRow;
  /** The language of the contact, if it is known. */
  language: Language | undefined;
  /** The contact; undefined if it was erased. Only a link from mail to its current address shows the address. */
  contact: Pick<ContactRow, 'email'> | undefined;
  isUnsubscribed: boolean;
  /** False for a suspended team. Only a link from mail to the address may opt in to more. */
  mayJoin: boolean;
  /** Topic of the mail; undefined for mail without a topic, and once the topic is deleted. */
  topic: TopicPreference | undefined;
  /** Public topics, and those the contact is opted in to. */
  topics: TopicPreference[];
}

/** Action of a button. */
export type PreferenceChange =
  /** Leaves the topic of the mail, or everything if it has none. */
  | { do: 'unsubscribe' }
  | { do: 'subscribe' }
  | { do: 'unsubscribe_all' }
  | { do: 'subscribe_all' }
  /** Saves which of the shown topics were chosen. */
  | { do: 'save'; shown: ReadonlySet<string>; chosen: ReadonlySet<string> };

/** Returns the preferences; undefined if the team does not exist. */
export const readPreferences = (store: Store, link: PreferenceLink): Promise<Preferences | undefined> =>
  loadPreferences(store.db, link, undefined);

/** Applies a change, even if it is repeated, and returns the preferences that are now in effect. */
export function changePreferences(
  store: Store,
  link: PreferenceLink,
  change: PreferenceChange,
  source: ConsentSource,
): Promise<Preferences | undefined> {
  return store.db.tx(async (tx) => {
    const before = await loadPreferences(tx, link, undefined);
    const row = await findLinkedContact(tx, link, true);
    if (!before) return undefined;
    const origin: ConsentOrigin = { source, emailId: link.emailId };
    if (row) await apply(store, tx, { link, row, before, change, origin });
    if (row?.email_key !== link.emailKey) await leaveByAddress(store, tx, { link, row, before, change, origin });
    // A private topic that was just left is still shown, so that it can be joined again.
    const after = await loadPreferences(tx, link, new Set(before.topics.map(({ id }) => id)));
    if (after && hasOptedOut(before, after)) await recordLeaving(store, tx, link);
    return after;
  });
}

/**
 * Unsubscribes the holder of the token in the subject of mail to the unsubscribe address of a team. Returns false if
 * there is no token of that team.
 */
export async function unsubscribeByMail(
  store: Store,
  { teamId, subject }: { teamId: string; subject: string },
): Promise<boolean> {
  const token = findMailedToken(subject);
  const link = token === undefined ? undefined : openPreferenceLink(store, token);
  if (link?.kind !== 'choice' || link.teamId !== teamId) return false;
  return (await changePreferences(store, link, { do: 'unsubscribe' }, 'unsubscribe_mail')) !== undefined;
}

/** Reports whether the contact has left the topic of the mail, or everything. */
const hasOptedOut = (before: Preferences, after: Preferences): boolean =>
  (after.isUnsubscribed && !before.isUnsubscribed) ||
  (after.topic?.subscription === 'opt_out' && before.topic?.subscription === 'opt_in');

/**
 * Records an unsubscribe event for the email that contains the link. It is recorded once, however often the reader
 * returns and leaves, and only while the email is kept.
 */
async function recordLeaving(store: Store, tx: Executor, { emailId, teamId }: PreferenceLink): Promise<void> {
  if (emailId === null) return;
  // A concurrent second press of the button waits for the contact's row.
  const [isFirst] = await withoutEvent(tx, [emailId], 'email.unsubscribed');
  const [email] = isFirst === undefined ? [] : await emailRowsByIds(tx, [emailId]);
  if (email?.team_id !== teamId) return;
  const at = store.clock.now();
  await recordEmailEvents(tx, store.ids, [{ type: 'email.unsubscribed', email, at, isFirst: true }]);
}

/** Handles an opt-out for an address that has no contact, or that its contact no longer has. */
async function leaveByAddress(
  store: Store,
  tx: Executor,
  { link, row, before: { topic }, change, origin }: Omit<Applying, 'row'> & { row: ContactRow | undefined },
): Promise<void> {
  if (change.do !== 'unsubscribe' && change.do !== 'unsubscribe_all') return;
  // The record must not be attributed to a contact that has another address by now.
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
      // It is unknown which mail replaces that of a deleted topic, so leaving the topic leaves everything.
      return topic ? choose([{ id: topic.id, subscription: 'opt_out' }]) : setAll(true);
    case 'subscribe':
      if (topic) return choose([{ id: topic.id, subscription: 'opt_in' }]);
      // Confirming a topic is no opt-in to everything.
      return link.kind === 'confirmation' ? undefined : setAll(false);
    case 'unsubscribe_all':
      return setAll(true);
    case 'subscribe_all':
      return setAll(false);
    case 'save':
      return choose(choicesIn(before.topics, change));
  }
}

/** Returns only changed choices: leaving a choice as it was is no decision. */
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
 * Returns the contact that now has the address the mail went to, even if it was erased and created again. Otherwise
 * returns the contact by its id, which has another address by now: it no longer gets mail at the old one, and its
 * opt-out still applies.
 */
async function findLinkedContact(
  db: Executor,
  { teamId, contactId, emailKey }: PreferenceLink,
  isHeld: boolean,
): Promise<ContactRow | undefined> {
  const known = await findContact(db, teamId, { id: contactId }, isHeld);
  if (known?.email_key === emailKey) return known;
  return (await findContact(db, teamId, { emailKey }, isHeld)) ?? known;
}

async function loadPreferences(
  db: Executor,
  link: PreferenceLink,
  alsoShown: ReadonlySet<string> | undefined,
): Promise<Preferences | undefined> {
  const team = await findTeam(db, link.teamId);
  if (!team) return undefined;
  const contact = await findLinkedContact(db, link, false);
  const isOwn = contact?.email_key === link.emailKey;
  const live = await liveTopics(db, team.id);
  const left = contact ? undefined : (await optOutsAmong(db, team.id, [link.emailKey])).get(link.emailKey);
  const chosen = contact
    ? new Map((await listChoices(db, [contact.id])).map((row) => [row.topic_id, row.subscription]))
    : new Map(left?.topicIds.map((id) => [id, 'opt_out' as const]));
  const seen = (row: TopicRow): TopicPreference => {
    const { id, name, description, default_subscription } = row;
    return { id, name, description, subscription: chosen.get(id) ?? default_subscription };
  };
  const topic = live.find(({ id }) => id === link.topicId);
  const isListed = (row: TopicRow): boolean =>
    row.visibility === 'public' || seen(row).subscription === 'opt_in' || (alsoShown?.has(row.id) ?? false);
  const properties = contact ? await declaredProperties(db, team.id) : [];
  return {
    team,
    language: contact && findContactLanguage(contact, findLanguageProperty(team, properties)),
    contact: contact && { email: isOwn ? contact.email : link.emailKey },
    isUnsubscribed: contact ? contact.unsubscribed === 1 : (left?.all ?? false),
    mayJoin: isOwn && team.risk_state !== 'suspended',
    topic: topic && seen(topic),
    topics: contact ? live.filter(isListed).map(seen) : [],
  };
}
