/**
 * Contacts: the people a team writes to, each found by its address. It promises that an address is one contact's, that
 * an unsubscribed contact is subscribed again only by an explicit word, that a decision leaves a consent record, and that
 * a deletion leaves nothing personal. Who is in a segment is evaluated here, whenever it is asked.
 */
export {
  addContactToSegment,
  removeContactFromSegment,
  countFilter,
  getSegmentMetrics,
  listSegmentsWith,
  joinSegments,
  countMembers,
  membersPage,
} from './segment-members.ts';
export { exportContacts, type ExportFormat } from './export-contacts.ts';
export {
  clearDeleted,
  createAudienceContact,
  createContact,
  deleteContact,
  eraseContactElsewhere,
  updateContact,
} from './change-contact.ts';
export {
  getAudienceContact,
  getContact,
  listContacts,
  listContactSegments,
  listSegmentContacts,
  listContactActivity,
} from './read-contacts.ts';
export { importRows, ImportRaced, type ImportedRows } from './import-rows.ts';
export {
  listContactTopics,
  updateContactTopics,
  mayMail,
  type Exclusion,
  changePreferences,
  readPreferences,
  type PreferenceChange,
  type Preferences,
  type TopicPreference,
  chooseByApi,
} from './consent.ts';
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
export { hashOfEmail } from './consent.store.ts';
export { findContactsByIds, type ContactRow } from './contacts.store.ts';
export { contactNamed, valuesOf } from './find-contact.ts';
export { tellOf, writeChange } from './write-contact.ts';
export { countAudience } from './audience.store.ts';
export { textsBehind } from './values.store.ts';
