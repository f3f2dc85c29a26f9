import {
  createAudienceContact,
  createContact,
  deleteContact,
  getAudienceContact,
  getContact,
  listContactActivity,
  listContacts,
  listSegmentContacts,
  updateContact,
  addContactToSegment,
  countFilter,
  getSegmentMetrics,
  listContactSegments,
  listSegmentsWith,
  removeContactFromSegment,
  listContactTopics,
  updateContactTopics,
} from '../features/audience/contacts/index.ts';
import { pageOf, type Operations } from './operation.ts';
import {
  getContactImport,
  getContactImportFailures,
  listContactImports,
} from '../features/audience/contact-imports/index.ts';
import { listPropertyUsers } from '../features/campaigns/broadcasts/index.ts';
import {
  createContactProperty,
  deleteContactProperty,
  getContactProperty,
  listContactProperties,
  updateContactProperty,
} from '../features/audience/contact-properties/index.ts';
import {
  loseProperty,
  createSegment,
  deleteSegment,
  getSegment,
  updateSegment,
} from '../features/audience/segments/index.ts';
import { createTopic, deleteTopic, getTopic, listTopics, updateTopic } from '../features/audience/topics/index.ts';

export const contacts = {
  createContact: (ctx, { body }) => createContact(ctx, body),
  listContacts: (ctx, { query = {} }) => listContacts(ctx, query, pageOf(query)),
  getContact: (ctx, { path }) => getContact(ctx, path.contact),
  updateContact: (ctx, { path, body }) => updateContact(ctx, path.contact, body),
  deleteContact: (ctx, { path }) => deleteContact(ctx, path.contact),
  listContactActivity: (ctx, { path, query }) => listContactActivity(ctx, path.contact, pageOf(query)),
  createAudienceContact: (ctx, { path, body }) => createAudienceContact(ctx, path.segment, body),
  listAudienceContacts: (ctx, { path, query }) => listSegmentContacts(ctx, path.segment, {}, pageOf(query)),
  getAudienceContact: (ctx, { path }) => getAudienceContact(ctx, path.segment, path.contact),
  updateAudienceContact: (ctx, { path, body }) => updateContact(ctx, path.contact, body, path.segment),
  deleteAudienceContact: (ctx, { path }) => deleteContact(ctx, path.contact, path.segment),
} satisfies Partial<Operations>;

export const contactImports = {
  listContactImports: (ctx, { query = {} }) => listContactImports(ctx, query, pageOf(query)),
  getContactImport: (ctx, { path }) => getContactImport(ctx, path.import_id),
  getContactImportFailures: (ctx, { path }) => getContactImportFailures(ctx, path.import_id),
} satisfies Partial<Operations>;

export const contactProperties = {
  createContactProperty: (ctx, { body }) => createContactProperty(ctx, body),
  listContactProperties: (ctx, { query }) => listContactProperties(ctx, pageOf(query)),
  getContactProperty: (ctx, { path }) => getContactProperty(ctx, path.contact_property_id),
  updateContactProperty: (ctx, { path, body }) => updateContactProperty(ctx, path.contact_property_id, body),
  deleteContactProperty: async (ctx, { path }) => {
    const { key, ...users } = await listPropertyUsers(ctx, path.contact_property_id);
    const deleted = await deleteContactProperty(ctx, path.contact_property_id, (tx) =>
      loseProperty(tx, ctx.teamId, key),
    );
    return { ...deleted, ...users };
  },
} satisfies Partial<Operations>;

export const segments = {
  createSegment: (ctx, { body }) => createSegment(ctx, body),
  listSegments: (ctx, { query = {} }) => listSegmentsWith(ctx, query, pageOf(query)),
  previewSegment: (ctx, { body }) => countFilter(ctx, body.filter),
  getSegment: (ctx, { path }) => getSegment(ctx, path.segment),
  updateSegment: (ctx, { path, body }) => updateSegment(ctx, path.segment, body),
  deleteSegment: (ctx, { path }) => deleteSegment(ctx, path.segment),
  listSegmentContacts: (ctx, { path, query = {} }) => listSegmentContacts(ctx, path.segment, query, pageOf(query)),
  getSegmentMetrics: (ctx, { path }) => getSegmentMetrics(ctx, path.segment),
  listContactSegments: (ctx, { path, query }) => listContactSegments(ctx, path.contact, pageOf(query)),
  addContactToSegment: (ctx, { path }) => addContactToSegment(ctx, path.contact, path.segment),
  removeContactFromSegment: (ctx, { path }) => removeContactFromSegment(ctx, path.contact, path.segment),
} satisfies Partial<Operations>;

export const topics = {
  createTopic: (ctx, { body }) => createTopic(ctx, body),
  listTopics: (ctx, { query }) => listTopics(ctx, pageOf(query)),
  getTopic: (ctx, { path }) => getTopic(ctx, path.topic_id),
  updateTopic: (ctx, { path, body }) => updateTopic(ctx, path.topic_id, body),
  deleteTopic: (ctx, { path }) => deleteTopic(ctx, path.topic_id),
  listContactTopics: (ctx, { path, query }) => listContactTopics(ctx, path.contact, pageOf(query)),
  updateContactTopics: (ctx, { path, body }) => updateContactTopics(ctx, path.contact, body.topics),
} satisfies Partial<Operations>;
