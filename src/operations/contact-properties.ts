import { listPropertyUsers } from '../resources/broadcasts/index.ts';
import {
  createContactProperty,
  deleteContactProperty,
  getContactProperty,
  listContactProperties,
  updateContactProperty,
} from '../resources/contact-properties/index.ts';
import { pageOf, type Operations } from './operation.ts';

export const contactProperties = {
  createContactProperty: (ctx, { body }) => createContactProperty(ctx, body),
  listContactProperties: (ctx, { query }) => listContactProperties(ctx, pageOf(query)),
  getContactProperty: (ctx, { path }) => getContactProperty(ctx, path.contact_property_id),
  updateContactProperty: (ctx, { path, body }) => updateContactProperty(ctx, path.contact_property_id, body),
  deleteContactProperty: async (ctx, { path }) => {
    const users = await listPropertyUsers(ctx, path.contact_property_id);
    return { ...(await deleteContactProperty(ctx, path.contact_property_id)), ...users };
  },
} satisfies Partial<Operations>;
