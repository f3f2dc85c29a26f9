import {
  findPropertyUsers,
  createContactProperty,
  deleteContactProperty,
  getContactProperty,
  listContactProperties,
  updateContactProperty,
} from './contact-properties/contact-properties.ts';
import { getContactImport, getContactImportFailures, listContactImports } from './contact-imports/contact-imports.ts';
import {
  addContactToSegment,
  countFilter,
  getSegmentMetrics,
  listSegmentsWith,
  removeContactFromSegment,
} from './contacts/segment-members.ts';
import { deleteContact, updateContact } from './contacts/change-contact.ts';
import { createAudienceContact, createContact, createContactBatch } from './contacts/create-contacts.ts';
import {
  getAudienceContact,
  getContact,
  listContactSegments,
  listContacts,
  listSegmentContacts,
} from './contacts/read-contacts.ts';
import { listContactTopics, updateContactTopics } from './contacts/consent.ts';
import { createSegment, deleteSegment, getSegment, loseProperty, updateSegment } from './segments/segments.ts';
import { createTopic, deleteTopic, getTopic, listTopics, updateTopic } from './topics/topics.ts';
import { createForm, deleteForm, getForm, getFormSnippet, listForms, updateForm } from './sign-up/forms.ts';
import { readIdempotency, type Accept } from '../../mail/accept/index.ts';
import { readBatch, readPage, type BodyCheck, type OperationTable } from '../../tenancy/access/index.ts';
import type { World } from '../../platform/world.ts';

interface BatchCtx extends BodyCheck {
  services: { accept: Pick<Accept, 'writeIdempotently'> };
}

/** Limit of the items in a batch. They are written in one transaction. */
const BATCH_MAX = 1000;

export const contacts = {
  async createContactBatch(ctx, { body, header }) {
    const isPermissive = header?.['x-batch-validation'] === 'permissive';
    const { inputs, refused } = await readBatch(ctx, 'createContactBatch', { body, max: BATCH_MAX, isPermissive });
    const operation = isPermissive ? 'createContactBatch permissive' : 'createContactBatch';
    const idempotency = readIdempotency(ctx, header, { operation, said: body });
    return ctx.services.accept.writeIdempotently(ctx, { idempotency, isGrowing: false }, (keep) =>
      createContactBatch(ctx, inputs, { refused, isPermissive, keep }),
    );
  },
  createContact: (ctx, { body }) => createContact(ctx, body),
  listContacts: (ctx, { query = {} }) => listContacts(ctx, query, readPage(query)),
  getContact: (ctx, { path }) => getContact(ctx, path.contact),
  updateContact: (ctx, { path, body }) => updateContact(ctx, path.contact, body),
  deleteContact: (ctx, { path }) => deleteContact(ctx, path.contact),
  createAudienceContact: (ctx, { path, body }) => createAudienceContact(ctx, path.segment, body),
  listAudienceContacts: (ctx, { path, query }) => listSegmentContacts(ctx, path.segment, {}, readPage(query)),
  getAudienceContact: (ctx, { path }) => getAudienceContact(ctx, path.segment, path.contact),
  updateAudienceContact: (ctx, { path, body }) => updateContact(ctx, path.contact, body, path.segment),
  deleteAudienceContact: (ctx, { path }) => deleteContact(ctx, path.contact, path.segment),
} satisfies OperationTable<World, BatchCtx>;

export const contactImports = {
  listContactImports: (ctx, { query = {} }) => listContactImports(ctx, query, readPage(query)),
  getContactImport: (ctx, { path }) => getContactImport(ctx, path.import_id),
  getContactImportFailures: (ctx, { path }) => getContactImportFailures(ctx, path.import_id),
} satisfies OperationTable<World>;

export const contactProperties = {
  createContactProperty: (ctx, { body }) => createContactProperty(ctx, body),
  listContactProperties: (ctx, { query }) => listContactProperties(ctx, readPage(query)),
  getContactProperty: (ctx, { path }) => getContactProperty(ctx, path.contact_property_id),
  updateContactProperty: (ctx, { path, body }) => updateContactProperty(ctx, path.contact_property_id, body),
  deleteContactProperty: async (ctx, { path }) => {
    const { key, ...users } = await findPropertyUsers.call(ctx, path.contact_property_id);
    const deleted = await deleteContactProperty(ctx, path.contact_property_id, (tx) =>
      loseProperty(tx, ctx.teamId, key),
    );
    return { ...deleted, ...users };
  },
} satisfies OperationTable<World>;

export const segments = {
  createSegment: (ctx, { body }) => createSegment(ctx, body),
  listSegments: (ctx, { query = {} }) => listSegmentsWith(ctx, query, readPage(query)),
  previewSegment: (ctx, { body }) => countFilter(ctx, body.filter),
  getSegment: (ctx, { path }) => getSegment(ctx, path.segment),
  updateSegment: (ctx, { path, body }) => updateSegment(ctx, path.segment, body),
  deleteSegment: (ctx, { path }) => deleteSegment(ctx, path.segment),
  listSegmentContacts: (ctx, { path, query = {} }) => listSegmentContacts(ctx, path.segment, query, readPage(query)),
  getSegmentMetrics: (ctx, { path }) => getSegmentMetrics(ctx, path.segment),
  listContactSegments: (ctx, { path, query }) => listContactSegments(ctx, path.contact, readPage(query)),
  addContactToSegment: (ctx, { path }) => addContactToSegment(ctx, path.contact, path.segment),
  removeContactFromSegment: (ctx, { path }) => removeContactFromSegment(ctx, path.contact, path.segment),
} satisfies OperationTable<World>;

export const forms = {
  createForm: (ctx, { body }) => createForm(ctx, body),
  listForms: (ctx, { query }) => listForms(ctx, readPage(query)),
  getForm: (ctx, { path }) => getForm(ctx, path.form_id),
  updateForm: (ctx, { path, body }) => updateForm(ctx, path.form_id, body),
  deleteForm: (ctx, { path }) => deleteForm(ctx, path.form_id),
  getFormSnippet: (ctx, { path }) => getFormSnippet(ctx, path.form_id),
} satisfies OperationTable<World>;

export const topics = {
  createTopic: (ctx, { body }) => createTopic(ctx, body),
  listTopics: (ctx, { query }) => listTopics(ctx, readPage(query)),
  getTopic: (ctx, { path }) => getTopic(ctx, path.topic_id),
  updateTopic: (ctx, { path, body }) => updateTopic(ctx, path.topic_id, body),
  deleteTopic: (ctx, { path }) => deleteTopic(ctx, path.topic_id),
  listContactTopics: (ctx, { path, query }) => listContactTopics(ctx, path.contact, readPage(query)),
  updateContactTopics: (ctx, { path, body }) => updateContactTopics(ctx, path.contact, body.topics),
} satisfies OperationTable<World>;
