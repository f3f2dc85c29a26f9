import type { Store } from '../../../platform/store/index.ts';
import type { Finding } from './finding.ts';
import { ssoDomainsLost, ssoProvidersInTrouble } from './findings.store.ts';
import { together } from './together.ts';

/** A provider that is being restarted is no trouble. */
const FAILING_MS = 60_000;

/** What of single sign-on does not work, of one team, or where none is given of all. */
export async function ssoFindings({ db, clock }: Store, teamId: string | undefined): Promise<Finding[]> {
  const rows = await ssoProvidersInTrouble(db, { teamId }, clock.now() - FAILING_MS);
  const [down, wrong] = (['down', 'wrong'] as const).map((kind) =>
    rows
      .filter((row) => row.fault_kind === kind)
      .map(({ issuer, fault, failing_since: since }) => ({ name: URL.parse(issuer)?.host ?? issuer, since, fault })),
  );
  const lost = await ssoDomainsLost(db, { teamId });
  return [
    ...together('sso_provider_down', down ?? [], (host) => ({
      summary: `The identity provider ${host} does not answer, so that nobody signs in by it: ${down?.[0]?.fault}.`,
    })),
    ...together('sso_provider_wrong', wrong ?? [], (host) => ({
      summary: `The identity provider ${host} answers what cannot be trusted, so that nobody signs in by it: ${wrong?.[0]?.fault}.`,
    })),
    ...together(
      'sso_domain_lost',
      lost.map(({ domain, lost_at: since }) => ({ name: domain, since })),
      (domain) => ({
        summary: `The domain ${domain} is proven no more, and its addresses do not sign in by single sign-on: ${lost[0]?.diagnosis ?? 'its record is gone.'}`,
        advice: { words: 'Publish its record again, then', command: `rasket sso verify-domain ${domain}` },
      }),
    ),
  ];
}
