import type { ConfigureDomainDnsRequest } from '../../contract/index.ts';
import { configureDomainDns } from '../../flow/dns-setup/index.ts';
import { readZone } from '../../resources/dns/index.ts';
import type { KeyHandler } from '../operation.ts';

export const dns: Record<string, KeyHandler> = {
  async getDomainZone(ctx, { path, reply }) {
    const text = await readZone(ctx, path.domain_id ?? '');
    reply.type('text/plain; charset=utf-8');
    return text;
  },
  configureDomainDns: (ctx, { path, body }) =>
    configureDomainDns(ctx, path.domain_id ?? '', (body ?? {}) as Partial<ConfigureDomainDnsRequest>),
};
