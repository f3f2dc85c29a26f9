/**
 * Imports of contacts: the submitted file, its progress and its failed rows. Each row is counted once, because counts
 * and position are written in the transaction that writes the row. `import-runner` reads the file.
 */
export { importsWithFile, importsWithFileAmong } from './contact-imports/contact-imports.store.ts';
export { importBlob, removeImportFile } from './contact-imports/import-files.ts';

/**
 * Contact properties: the keys that a team declares, and the type of each. A key is declared only once, in any letter
 * case, and a deleted one disappears for every reader at once. The values belong to the contacts.
 */
export { declaredProperties, type PropertyRow } from './contact-properties/contact-properties.store.ts';
export { findDateProperties, findPropertyUsers, getContactProperty } from './contact-properties/contact-properties.ts';

/**
 * Contacts: the people a team writes to, each identified by its address. An address belongs to at most one contact per
 * team, an unsubscribed contact is subscribed again only by an explicit request, every decision leaves a consent
 * record, and a deletion leaves no personal data. Segment membership is evaluated here on every read.
 */
export { countByCondition, matchesAmong, type ContactCondition } from './contacts/audience.store.ts';
export {
  listHistory,
  recordHistory,
  recordLiftedSuppressions,
  removeHistoryBefore,
  toUuid,
  type HistoryData,
} from './contacts/contact-history.store.ts';
export {
  countConfirmationMails,
  countConsentsOfEmail,
  listConsents,
  listConsentsOfEmail,
  type ConsentAction,
} from './contacts/consent.store.ts';
export { clearDeleted, eraseContact, eraseContactElsewhere } from './contacts/change-contact.ts';
export { createContact } from './contacts/create-contacts.ts';
export {
  changePreferences,
  chooseByApi,
  hasLeftItself,
  listContactTopics,
  mayMail,
  readPreferences,
  unsubscribeByMail,
  withoutTopicsLeft,
  type PreferenceChange,
  type Preferences,
  type TopicPreference,
} from './contacts/consent.ts';
export {
  findContact,
  findContactsByIds,
  findContactsByKeys,
  lockContacts,
  type ContactRow,
} from './contacts/contacts.store.ts';
export {
  beginEngagement,
  countCustomEvents,
  countTowardsCap,
  findContactsAtCap,
  renderAtCap,
  findEngagement,
  recordEngagement,
} from './contacts/engagement.store.ts';
export { beginExport, exportContacts, makeExportPage } from './contacts/export-contacts.ts';
export { contactNamed, filteredContacts, readContactName, readPropertyValues } from './contacts/find-contact.ts';
export {
  SAMPLE_TOKEN,
  choiceToken,
  findLinkKind,
  openPreferenceLink,
  isSampleLink,
  sampleLinks,
  withSampleLinks,
  type WayOut,
  buildUnsubscribeLinks,
} from './contacts/preference-links.ts';
export { getContact, listContactSegments, presentSuppressions } from './contacts/read-contacts.ts';
export { countMembers, getSegmentMetrics, joinSegments, membersPage } from './contacts/segment-members.ts';
export {
  isReplaced,
  readSample,
  sampleRecipients,
  writeSample,
  type AudienceSample,
} from './contacts/audience-sample.ts';
export { contactsWithText, countWithTexts, textsAfter, textsAmong } from './contacts/values.store.ts';
export { recordContactEvent, writeChange } from './contacts/write-contact.ts';

/**
 * Readers: the languages of the people who get marketing mail, and all texts that they read outside of what a team
 * writes, on pages and in footers.
 */
export { fillFooter, FOOTER_KEYS } from './readers/footer.ts';
export { formatPostalLines } from './readers/postal-lines.ts';
export {
  findContactLanguage,
  findLanguageProperty,
  readAcceptLanguage,
  readLanguage,
} from './readers/reader-language.ts';
export { fillHtml, fillText, READER_TEXTS, type Language, type ReaderTexts } from './readers/reader-texts.ts';

/**
 * Sign-up: public forms with which people sign up for a topic or for segments. An address becomes a contact only when
 * it confirms by mail, and nobody can find out from a form which addresses are known.
 */
export { eraseSignUps } from './sign-up/forms.store.ts';
export { getForm, TRAP_FIELD } from './sign-up/forms.ts';
export {
  checkProof,
  issueChallenge,
  PROOF_FIELD,
  renderSolver,
  SOLVER_SCRIPT,
  spendProof,
  type ProofFault,
} from './sign-up/proof-of-work.ts';
export {
  confirmSignUp,
  findOpenForm,
  readSignUp,
  requestSignUp,
  type OpenForm,
  type SignUp,
} from './sign-up/sign-up.ts';

/**
 * Segments: parts of a team's contacts, selected by a filter or by hand. Membership is evaluated when it is read, and a
 * filter keeps the meaning that it had when the segment was made. The contacts evaluate it.
 */
export { countSegments, findSegment, liveSegments, membersAmong, type SegmentRow } from './segments/segments.store.ts';
export {
  createSegment,
  declaredFor,
  findNamedInFilters,
  loadSegmentFilter,
  loadSegmentFilters,
  getSegment,
  listSegments,
  withoutLost,
} from './segments/segments.ts';

/**
 * Topics: the subjects a team writes about, and which of them a contact wants. A contact's own choice takes precedence
 * over the topic's default, and every choice leaves a consent record.
 */
export { listConfirmations } from './topics/confirmations.store.ts';
export { findTopic, liveTopics, quietTopics, type QuietTopic } from './topics/topics.store.ts';
export { createTopic, getTopic, listTopics } from './topics/topics.ts';
