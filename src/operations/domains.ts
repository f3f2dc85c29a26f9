import { createDomain, getDomain, updateDomain, verifyDomain } from '../mail/domain-dns/index.ts';
import { deleteInboxesOfDomain } from '../features/inbox/inboxes/index.ts';
import { deleteDomain, listDomains, regenerateDkim, rotateDkim } from '../mail/domains/index.ts';
import { pageOf, type Operations } from './operation.ts';

export const domains = {
  createDomain: (ctx, { body }) => createDomain(ctx, body),
  listDomains: (ctx, { query }) => listDomains(ctx, pageOf(query)),
  getDomain: (ctx, { path }) => getDomain(ctx, path.domain_id),
  updateDomain: (ctx, { path, body }) => updateDomain(ctx, path.domain_id, body),
  deleteDomain: (ctx, { path }) =>
    deleteDomain(ctx, path.domain_id, (tx) => deleteInboxesOfDomain(tx, ctx, path.domain_id)),
  verifyDomain: (ctx, { path }) => verifyDomain(ctx, path.domain_id),
  regenerateDkim: (ctx, { path, body }) => regenerateDkim(ctx, path.domain_id, body),
  rotateDkim: (ctx, { path }) => rotateDkim(ctx, path.domain_id),
} satisfies Partial<Operations>;
