/**
 * Imports of contacts: what was handed in, how far it has come and what failed of it. It promises that a row is counted
 * once: counts and position are written in the transaction that writes the row. Reading the file is the audience stage's.
 */
export { importsWithFileAmong } from './contact-imports/contact-imports.store.ts';

/**
 * Contact properties: the keys a team declares, and the type of each. It promises that a key is declared once, whatever its
 * letter case, and that what is deleted is gone for every reader at once. The values themselves are the contacts'.
 */
export { declaredProperties, type PropertyRow } from './contact-properties/contact-properties.store.ts';
export { findPropertyUsers, getContactProperty } from './contact-properties/contact-properties.ts';

/**
 * Contacts: the people a team writes to, each found by its address. It promises that an address is one contact's, that
 * an unsubscribed contact is subscribed again only by an explicit word, that a decision leaves a consent record, and that
 * a deletion leaves nothing personal. Who is in a segment is evaluated here, whenever it is asked.
 */
export { countAudience } from './contacts/audience.store.ts';
export { clearDeleted, createContact, eraseContactElsewhere } from './contacts/change-contact.ts';
export {
  changePreferences,
  chooseByApi,
  mayMail,
  readPreferences,
  type PreferenceChange,
  type Preferences,
  type TopicPreference,
} from './contacts/consent.ts';
export { findContactsByIds, type ContactRow } from './contacts/contacts.store.ts';
export { exportContacts } from './contacts/export-contacts.ts';
export { contactNamed, valuesOf } from './contacts/find-contact.ts';
export {
  SAMPLE_TOKEN,
  choiceToken,
  isPreferenceLink,
  openPreferenceLink,
  preferenceOrigin,
  sampleLinks,
  type WayOut,
  wayOutOf,
} from './contacts/preference-links.ts';
export { listContactSegments } from './contacts/read-contacts.ts';
export { countMembers, getSegmentMetrics, joinSegments, membersPage } from './contacts/segment-members.ts';
export { textsBehind } from './contacts/values.store.ts';
export { tellOf, writeChange } from './contacts/write-contact.ts';

/**
 * Segments: parts of a team's contacts, by a filter or by hand. It promises that membership is evaluated when it is read,
 * and that a filter is what it was when the segment was made. Whoever they are is for the contacts to say.
 */
export { countSegments, findSegment, liveSegments } from './segments/segments.store.ts';
export { createSegment, declaredFor, filterOf, getSegment, listSegments, withoutLost } from './segments/segments.ts';

/**
 * Topics: what a team writes about, and which of it a contact wants. It promises that a contact's own choice goes before the
 * topic's default, and that every choice leaves a consent record.
 */
export { findTopic, liveTopics } from './topics/topics.store.ts';
export { createTopic, getTopic, listTopics } from './topics/topics.ts';
