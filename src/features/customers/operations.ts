import { readPage, type OperationTable } from '../../tenancy/access/index.ts';
import { listContactActivity } from './contact-timeline.ts';
import { eraseAddress } from './erase-address.ts';

export const people = {
  listContactActivity: (ctx, { path, query = {} }) => listContactActivity(ctx, path.contact, query, readPage(query)),
  eraseAddress: (ctx, { body }) => eraseAddress(ctx, body),
} satisfies OperationTable;
