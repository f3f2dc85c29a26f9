import type { Executor } from '../../../platform/db/index.ts';
import { timeOfId } from '../../../platform/ids.ts';
import type { Store } from '../../../platform/store.ts';
import type { PreferenceLink } from '../../../protocol/preference-links.ts';
import { findMailbox, normalizeAddress } from '../../../protocol/address/index.ts';
import { findTeam, type TeamRow } from '../../../tenancy/teams/index.ts';
import { mustHaveRoom } from '../contacts/create-contacts.ts';
import { applyErasedOptOuts, type Preferences } from '../contacts/consent.ts';
import { hashOfEmail, type ConsentOrigin } from '../contacts/consent.store.ts';
import { findContact, insertContacts, type ContactRow } from '../contacts/contacts.store.ts';
import { joinSegments } from '../contacts/segment-members.ts';
import { chooseTopics, decisionsFor, newContact, recordContactEvent, writeChange } from '../contacts/write-contact.ts';
import { declaredProperties } from '../contact-properties/contact-properties.store.ts';
import type { Language } from '../readers/reader-texts.ts';
import { liveSegments, membersAmong } from '../segments/segments.store.ts';
import { forgetConfirmations } from '../topics/confirmations.store.ts';
import { findTopic, listChoices, type TopicRow } from '../topics/topics.store.ts';
import { readIds } from './forms.ts';
import { countAddress, findPublicForm, insertSignUp, type FormRow } from './forms.store.ts';

/** A form that accepts addresses. */
export interface OpenForm {
  form: FormRow;
  team: TeamRow;
  topic: TopicRow | undefined;
}

/** Finds a form; undefined if it accepts no address: it is switched off, its team is suspended, or its topic is gone. */
export async function findOpenForm(db: Executor, id: string): Promise<OpenForm | undefined> {
  const form = await findPublicForm(db, id);
  if (form?.enabled !== 1) return undefined;
  const team = await findTeam(db, form.team_id);
  if (!team || team.risk_state === 'suspended') return undefined;
  const topic = form.topic_id === null ? undefined : await findTopic(db, team.id, form.topic_id);
  return form.topic_id === null || topic ? { form, team, topic } : undefined;
}

/**
 * Notes that an address wants to sign up, and asks it by mail to confirm. What is known of the address is looked up
 * only when it is mailed, so that neither the response nor its time depends on that.
 */
export function requestSignUp(
  store: Store,
  { form }: OpenForm,
  { email, language }: { email: string; language: Language },
): Promise<void> {
  const now = store.clock.now();
  const emailKey = normalizeAddress(email);
  return store.db.tx(async (tx) => {
    if (!(await countAddress(tx, hashOfEmail(findMailbox(emailKey)), now))) return;
    await insertSignUp(tx, {
      id: store.ids.uuid(),
      team_id: form.team_id,
      form_id: form.id,
      email,
      email_key: emailKey,
      language,
      due_at: now,
      created_at: now,
    });
  });
}

/** Time for which a confirmation link works. */
const CONFIRMED_WITHIN_MS = 30 * 24 * 3_600_000;

/** What the page of a confirmation link shows. */
export interface SignUp extends Preferences {
  /** The page to show after the confirmation. */
  confirmedUrl: string | null;
  /** Link to the preferences of the contact that has the address now, if there is one. */
  choices: PreferenceLink;
}

/** Reads what a confirmation link of a form is for; undefined if it expired, or the form was deleted. */
export const readSignUp = (store: Store, link: PreferenceLink): Promise<SignUp | undefined> =>
  loadSignUp(store, store.db, link);

async function loadSignUp(store: Store, db: Executor, link: PreferenceLink): Promise<SignUp | undefined> {
  const { teamId, contactId, topicId: formId, emailKey } = link;
  const form = formId === null ? undefined : await findPublicForm(db, formId);
  const team = form && (await findTeam(db, teamId));
  if (!team || timeOfId(contactId) <= store.clock.now() - CONFIRMED_WITHIN_MS) return undefined;
  const open = await findOpenForm(db, form.id);
  const contact = await findContact(db, teamId, { emailKey });
  const topic = open?.topic ?? { id: form.id, name: form.name, description: null };
  const isIn = open !== undefined && contact !== undefined && (await hasJoined(db, open, contact));
  const choices: PreferenceLink = {
    kind: 'choice',
    teamId,
    contactId: contact?.id ?? contactId,
    topicId: form.topic_id,
    emailId: null,
    emailKey,
  };
  return {
    team,
    language: undefined,
    contact: { email: contact?.email ?? emailKey },
    isUnsubscribed: contact?.unsubscribed === 1,
    mayJoin: open !== undefined,
    topic: {
      id: topic.id,
      name: topic.name,
      description: topic.description,
      subscription: isIn ? 'opt_in' : 'opt_out',
    },
    topics: [],
    confirmedUrl: form.confirmed_url,
    choices,
  };
}

/** Reports whether a contact has everything that people sign up for with the form. */
export async function hasJoined(db: Executor, { form, topic }: OpenForm, contact: ContactRow): Promise<boolean> {
  if (contact.unsubscribed === 1) return false;
  const choices = await listChoices(db, [contact.id]);
  if (topic && !choices.some((row) => row.topic_id === topic.id && row.subscription === 'opt_in')) return false;
  const memberOf = new Set((await membersAmong(db, [contact.id])).map((row) => row.segment_id));
  const live = await liveSegments(db, form.team_id, readIds(form.segment_ids));
  return live.every(({ id }) => memberOf.has(id));
}

const CONFIRMED: ConsentOrigin = { source: 'confirmation' };

/**
 * Subscribes the holder of a confirmation link, even if it is repeated: makes the contact if there is none, and takes
 * back an earlier opt-out. Throws if the plan has no room for another contact.
 */
export function confirmSignUp(store: Store, link: PreferenceLink): Promise<SignUp | undefined> {
  return store.db.tx(async (tx) => {
    const before = await loadSignUp(store, tx, link);
    const open = before?.mayJoin && link.topicId !== null ? await findOpenForm(tx, link.topicId) : undefined;
    if (!open || before?.topic?.subscription === 'opt_in') return before;
    await join(store, tx, open, link.emailKey);
    return loadSignUp(store, tx, link);
  });
}

async function join(store: Store, tx: Executor, { form, topic }: OpenForm, emailKey: string): Promise<void> {
  const { team_id: teamId } = form;
  const fields = { email: emailKey, first_name: null, last_name: null, unsubscribed: false, values: {} };
  const fresh = newContact(store, teamId, fields);
  const isNew = (await insertContacts(tx, [fresh])) === 1;
  const known = isNew ? fresh : await findContact(tx, teamId, { emailKey }, true);
  if (!known) throw new Error('contact row missing after a conflict of its address');
  let [row = known] = isNew ? await applyErasedOptOuts(store, tx, [fresh], { hasConsent: true }) : [known];
  if (row.unsubscribed === 1) {
    const declared = await declaredProperties(tx, teamId);
    row = await writeChange(store, tx, { before: row, change: { unsubscribed: false }, declared, ...CONFIRMED });
  }
  const segments = await liveSegments(tx, teamId, readIds(form.segment_ids));
  await joinSegments(
    store,
    tx,
    row,
    segments.map(({ id }) => id),
  );
  if (topic) {
    await chooseTopics(store, tx, decisionsFor([row], [{ id: topic.id, subscription: 'opt_in' }]), CONFIRMED);
    await forgetConfirmations(tx, row.id, [topic.id]);
  }
  await recordContactEvent(store, tx, isNew ? 'contact.created' : 'contact.updated', row);
  if (isNew) await mustHaveRoom(store, tx, teamId);
}
