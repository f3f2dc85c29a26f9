import type { Lookup, Resolver } from '../../platform/resolver/index.ts';

export interface DnsQuestion {
  name: string;
  type: string;
}
/** The codes are those of `dns.promises.resolve`. */
export type DnsAnswer = { records: unknown } | { code: string };

/** Answers a DNS question of a check; never rejects. */
export async function answerQuestion(resolver: Resolver, { name, type }: DnsQuestion): Promise<DnsAnswer> {
  switch (type) {
    case 'TXT':
      return answerOf(await resolver.txt(name), (texts) => texts.map((text) => [text]));
    case 'MX':
      return answerOf(await resolver.mx(name), (servers) =>
        servers.map(({ host, preference }) => ({ exchange: host, priority: preference })),
      );
    case 'A':
      return answerOf(await resolver.addresses(name), ({ v4 }) => v4);
    case 'AAAA':
      return answerOf(await resolver.addresses(name), ({ v6 }) => v6);
    default:
      return { code: 'ENOTFOUND' };
  }
}

function answerOf<T>(answer: Lookup<T>, present: (records: T) => unknown[]): DnsAnswer {
  if (answer.kind === 'none') return { code: answer.why === 'nxdomain' ? 'ENOTFOUND' : 'ENODATA' };
  if (answer.kind === 'failed') return { code: answer.reason === 'timeout' ? 'ETIMEOUT' : 'ESERVFAIL' };
  const records = present(answer.records);
  return records.length > 0 ? { records } : { code: 'ENODATA' };
}
