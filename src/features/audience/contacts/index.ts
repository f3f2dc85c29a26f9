/**
 * Contacts: the people a team writes to, each found by its address. It promises that an address is one contact's, that
 * an unsubscribed contact is subscribed again only by an explicit word, that a decision leaves a consent record, and that
 * a deletion leaves nothing personal. Who is in a segment is evaluated here, whenever it is asked.
 */
export { addContactToSegment, removeContactFromSegment } from './change-membership.ts';
export { exportContacts, type ExportFormat } from './export-contacts.ts';
export { clearDeleted } from './clear-deleted.ts';
export { createAudienceContact, createContact } from './create-contact.ts';
export { deleteContact } from './delete-contact.ts';
export {
  getAudienceContact,
  getContact,
  listContacts,
  listContactSegments,
  listSegmentContacts,
} from './read-contacts.ts';
export { countFilter, getSegmentMetrics, listSegmentsWith } from './count-audience.ts';
export { importRows, ImportRaced, type ImportedRows } from './import-rows.ts';
export { listContactTopics, updateContactTopics } from './contact-topics.ts';
export { listContactActivity } from './contact-activity.ts';
export { mayMail, type Exclusion } from './may-mail.ts';
export {
  choiceToken,
  confirmationUrl,
  isPreferenceLink,
  openPreferenceLink,
  preferenceOrigin,
  SAMPLE_TOKEN,
  sampleLinks,
  wayOutOf,
  type LinkedMail,
  type WayOut,
} from './preference-links.ts';
export {
  changePreferences,
  readPreferences,
  type PreferenceChange,
  type Preferences,
  type TopicPreference,
} from './preferences.ts';
export { hashOfEmail } from './consent.store.ts';
export { findContactsByIds, type ContactRow } from './contacts.store.ts';
export { contactNamed } from './find-contact.ts';
export { joinSegments } from './join-segments.ts';
export { chooseByApi } from './contact-topics.ts';
export { tellOf } from './tell.ts';
export { writeChange } from './write-change.ts';
export { updateContact } from './update-contact.ts';
export { valuesOf } from './property-values.ts';
export { countAudience } from './audience.store.ts';
export { countMembers, membersPage } from './members.ts';
export { textsBehind } from './values.store.ts';
