import type { World } from '../../../platform/world.ts';
import { readBimi, type Answer, type BimiRecord } from '../../../protocol/dns-diagnosis/index.ts';
import { estimateOrganizationalDomain } from '../../../protocol/organizational-domain.ts';
import { isDnsAsked } from '../../domains/index.ts';
import { inTime, toAnswer } from './check-records.ts';

/**
 * Finds the BIMI record of a domain, or else of the registered name above it, as mailbox providers do. It is information
 * for the domain's owner, so it takes no longer than the diagnosis, and without that, DNS is not queried.
 */
export async function findBimi(
  world: World,
  domain: string,
  options: { cache: boolean },
): Promise<BimiRecord | undefined> {
  const { diagnosis_ms: budgetMs } = world.config.dns;
  if (!isDnsAsked(world) || budgetMs === 0) return undefined;
  const patience = AbortSignal.timeout(Math.ceil(budgetMs / 2));
  const findTexts = async (name: string): Promise<Answer> =>
    toAnswer(await inTime(world.resolver.txt(name, options), patience), (records) => records);

  const registered = estimateOrganizationalDomain(domain);
  for (const owner of new Set([domain, registered])) {
    const name = `default._bimi.${owner}`;
    const answer = await findTexts(name);
    if (answer.kind === 'failed') return undefined;
    if (answer.kind === 'none') continue;
    const [own, above] = await Promise.all([
      findTexts(`_dmarc.${domain}`),
      registered === domain ? undefined : findTexts(`_dmarc.${registered}`),
    ]);
    const record = readBimi(name, answer.records, {
      domain,
      own,
      above: above && { domain: registered, answer: above },
    });
    if (record) return record;
  }
  return undefined;
}
