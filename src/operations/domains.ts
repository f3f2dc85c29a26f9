import {
  createDomain,
  getDomain,
  updateDomain,
  verifyDomain,
  verifyClaim,
  configureDomainDns,
} from '../mail/domain-dns/index.ts';
import { deleteInboxesOfDomain } from '../features/inbox/inboxes/index.ts';
import { deleteDomain, listDomains, regenerateDkim, rotateDkim } from '../mail/domains/index.ts';
import { pageOf, Answered, type Operations } from './operation.ts';
import { claimDomain, getClaim } from '../mail/domain-claims/index.ts';
import { readZone } from '../mail/dns/index.ts';

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

export const domainClaims = {
  async claimDomain(ctx, { body }) {
    const { claim, isNew } = await claimDomain(ctx, body);
    return new Answered(isNew ? 201 : 200, claim);
  },
  getDomainClaim: (ctx, { path }) => getClaim(ctx, path.domain_id),
  verifyDomainClaim: (ctx, { path }) => verifyClaim(ctx, path.domain_id),
} satisfies Partial<Operations>;

export const dns = {
  getDomainZone: (ctx, { path }) => readZone(ctx, path.domain_id),
  configureDomainDns: (ctx, { path, body }) => configureDomainDns(ctx, path.domain_id, body),
} satisfies Partial<Operations>;
