import { configureDomainDns } from '../mail/domain-dns/index.ts';
import { readZone } from '../mail/dns/index.ts';
import type { Operations } from './operation.ts';

export const dns = {
  getDomainZone: (ctx, { path }) => readZone(ctx, path.domain_id),
  configureDomainDns: (ctx, { path, body }) => configureDomainDns(ctx, path.domain_id, body),
} satisfies Partial<Operations>;
