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
} from '../features/audience/contacts/index.ts';
import { pageOf, type Operations } from './operation.ts';

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
