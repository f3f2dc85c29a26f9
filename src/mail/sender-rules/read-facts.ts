import type { Config } from '../../platform/config/index.ts';
import type { Store } from '../../platform/store.ts';
import { estimateOrganizationalDomain } from '../../protocol/organizational-domain.ts';
import type { ReplyCause } from '../../protocol/smtp-reply/index.ts';
import { findLinkOrigin, listDomainsBelow, type DomainRow } from '../domains/index.ts';
import type { CheckReader } from '../reputation-admin/index.ts';
import { hourAt, sumMailOfProviders, summarizeReputation, type GroupReputation } from '../reputation/index.ts';

const HOURS_OF_DAY = 24;
const DAYS_JUDGED = 7;
const GROUPS_MAX = 500;

/** Says whether something is as it has to be, as far as it is known, with a sentence about it. */
export interface Fact {
  state: 'met' | 'unmet' | 'not_known';
  says: string;
}

/** The answers of DNS about the authentication of a domain's mail. */
export interface AuthFacts {
  spf: Fact;
  dkim: Fact;
  dmarc: Fact;
  /** The DMARC policy does not accept SPF of the return path, which is a subdomain. */
  isSpfStrict: boolean;
}

/** The mail that a provider received of a domain, and its replies. */
export interface MailFacts {
  last24Hours: number;
  largestDay: number;
  /** Recipients of mail outside of broadcasts and automations. */
  transactional24Hours: number;
  accepted: number;
  complained: number;
  /** Recipients that the provider refused or deferred today, by cause. */
  refusedToday(cause: ReplyCause): number;
}

export interface Facts {
  domain: DomainRow;
  primaryDomain: string;
  config: Config;
  auth: AuthFacts;
  reverseDns: Fact;
  /** The origin of unsubscribe links. */
  linkOrigin: string;
  /** Returns what a provider received of the domain, or of all names below the primary domain. */
  mailTo(provider: string, isCountedByPrimaryDomain: boolean): MailFacts;
}

export const notKnown = (says: string): Fact => ({ state: 'not_known', says });

/** Reads everything that rules are judged by, except for what DNS says. */
export async function readFacts(
  store: Store,
  node: CheckReader,
  { domain, auth }: Pick<Facts, 'domain' | 'auth'>,
): Promise<Facts> {
  const primaryDomain = estimateOrganizationalDomain(domain.name);
  const [reverseDns, linkOrigin, mailTo] = await Promise.all([
    readReverseDns(node),
    findLinkOrigin(store, domain.id),
    readMail(store, domain, primaryDomain),
  ]);
  return { domain, primaryDomain, config: store.config, auth, reverseDns, linkOrigin, mailTo };
}

/** Reads what the last examinations found about the addresses of this server, without naming them. */
async function readReverseDns(node: CheckReader): Promise<Fact> {
  const checks = (await node.loadReport()).checks.filter(({ name }) => name === 'reverse_dns');
  const examined = checks.filter(({ state }) => state !== 'skipped');
  if (checks.length > 0 && examined.length === 0)
    return notKnown('Mail leaves this server through relays, which have addresses of their own.');
  const wrong = new Set(
    examined.flatMap(({ findings }) =>
      findings.flatMap(({ code, subjects }) => (code === 'reverse_dns_wrong' ? subjects : [])),
    ),
  );
  if (wrong.size > 0) {
    const which = wrong.size === 1 ? 'An address' : `${wrong.size} addresses`;
    const lack = wrong.size === 1 ? 'has no name that resolves back to it' : 'have no names that resolve back to them';
    return { state: 'unmet', says: `${which} that this server sends from ${lack}.` };
  }
  if (examined.length > 0 && examined.every(({ state }) => state === 'passed'))
    return { state: 'met', says: 'Each address that this server sends from has a name that resolves back to it.' };
  return notKnown('The last three days have no complete examination of reverse DNS.');
}

/** Reads the mail of the domain, and of all domains of its team below the registered name, by provider. */
async function readMail({ db, clock }: Store, domain: DomainRow, primaryDomain: string): Promise<Facts['mailTo']> {
  const now = clock.now();
  const untilDay = Math.floor(hourAt(now) / HOURS_OF_DAY) + 1;
  const domainIds = (await listDomainsBelow(db, domain.team_id, primaryDomain)).map(({ id }) => id);
  const query = { teamId: domain.team_id, untilDay, limit: GROUPS_MAX };
  const [{ groups: all }, { groups: today }, sums] = await Promise.all([
    summarizeReputation(db, {
      ...query,
      domainIds,
      fromDay: untilDay - DAYS_JUDGED,
      groupBy: ['domain', 'provider'],
    }),
    summarizeReputation(db, { ...query, domainIds: [domain.id], fromDay: untilDay - 1, groupBy: ['provider'] }),
    sumMailOfProviders(db, { sinceHour: hourAt(now) - HOURS_OF_DAY + 1, domainIds }),
  ]);
  return (provider, isCountedByPrimaryDomain) => {
    const isCounted = (domainId: string | undefined): boolean => isCountedByPrimaryDomain || domainId === domain.id;
    const counted = sums.filter(
      (one) => one.provider === provider && one.teamId === domain.team_id && isCounted(one.domainId),
    );
    const groups = all.filter(({ key }) => key.provider === provider);
    const own = groups.find(({ key }) => key.domain === domain.id);
    const causes = today
      .filter(({ key }) => key.provider === provider)
      .flatMap(({ outcomes }) => [...outcomes.deferred, ...outcomes.bounced]);
    return {
      last24Hours: sum(counted.map(({ recipients }) => recipients)),
      transactional24Hours: sum(counted.filter(({ isMarketing }) => !isMarketing).map(({ recipients }) => recipients)),
      largestDay: findLargestDay(groups.filter(({ key }) => isCounted(key.domain))),
      accepted: own?.outcomes.accepted ?? 0,
      complained: own?.outcomes.complained ?? 0,
      refusedToday: (cause) => sum(causes.filter((one) => one.cause === cause).map(({ recipients }) => recipients)),
    };
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

function findLargestDay(groups: readonly GroupReputation[]): number {
  const days = Array.from({ length: DAYS_JUDGED }, (_, day) =>
    sum(groups.map(({ daily }) => (daily.accepted[day] ?? 0) + (daily.bounced[day] ?? 0))),
  );
  return Math.max(...days);
}
