import { listPropertyUsers } from '../features/campaigns/broadcasts/index.ts';
import {
  createContactProperty,
  deleteContactProperty,
  getContactProperty,
  listContactProperties,
  updateContactProperty,
} from '../features/audience/contact-properties/index.ts';
import { loseProperty } from '../features/audience/segments/index.ts';
import { pageOf, type Operations } from './operation.ts';

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
