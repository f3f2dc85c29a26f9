import type { CreateDomainRequest, RegenerateDkimRequest, UpdateDomainRequest } from '../../contract/index.ts';
import {
  createDomain,
  deleteDomain,
  getDomain,
  listDomains,
  regenerateDkim,
  rotateDkim,
  updateDomain,
  verifyDomain,
} from '../../resources/domains/index.ts';
import { CREATED, type KeyHandler } from '../operation.ts';
import { pageOf } from '../page.ts';

export const domains: Record<string, KeyHandler> = {
  createDomain(ctx, { body, reply }) {
    reply.code(CREATED);
    return createDomain(ctx, body as CreateDomainRequest);
  },
  listDomains: (ctx, { query }) => listDomains(ctx, pageOf(query)),
  getDomain: (ctx, { path }) => getDomain(ctx, path.domain_id ?? ''),
  updateDomain: (ctx, { path, body }) => updateDomain(ctx, path.domain_id ?? '', body as UpdateDomainRequest),
  deleteDomain: (ctx, { path }) => deleteDomain(ctx, path.domain_id ?? ''),
  verifyDomain: (ctx, { path }) => verifyDomain(ctx, path.domain_id ?? ''),
  regenerateDkim: (ctx, { path, body }) => regenerateDkim(ctx, path.domain_id ?? '', body as RegenerateDkimRequest),
  rotateDkim: (ctx, { path }) => rotateDkim(ctx, path.domain_id ?? ''),
};
