import { nextTurn } from '../../../platform/clock.ts';
import { notFound } from '../../../platform/refusal.ts';
import type { World } from '../../../platform/world.ts';
import { compareAnswer, decodeText, findTag, isDmarc } from '../../../protocol/dns-diagnosis/index.ts';
import { estimateOrganizationalDomain } from '../../../protocol/organizational-domain.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import {
  findCheck,
  findDomain,
  isDnsAsked,
  isVerifiedWithoutDns,
  loadDomainNames,
  readCurrentRecords,
  type DomainRow,
} from '../../domains/index.ts';
import type { CheckReader } from '../../reputation-admin/index.ts';
import { hourAt, sumMailOfProviders } from '../../reputation/index.ts';
import {
  isNear,
  judgeProvider,
  loadUnmetRules,
  notKnown,
  PROVIDER_RULES,
  readFacts,
  replaceUnmetRules,
  type AuthFacts,
  type Fact,
  type Facts,
  type UnmetRules,
} from '../../sender-rules/index.ts';
import { checkRecords, inTime, toAnswer } from './check-records.ts';

/** Shows a team whether one of its domains meets the rules of each provider. */
export async function getSenderRules({ store: world, teamId }: Ctx<World>, node: CheckReader, domainId: string) {
  const domain = await findDomain(world.db, teamId, domainId);
  if (!domain) throw notFound('Domain');
  const facts = await readAllFacts(world, node, domain);
  return {
    object: 'sender_rules' as const,
    domain_id: domain.id,
    domain_name: domain.name,
    primary_domain: facts.primaryDomain,
    data: PROVIDER_RULES.map((provider) => judgeProvider(facts, provider)),
  };
}

/** The rules that records in DNS decide. */
const BY_RECORDS: ReadonlySet<string> = new Set(['spf', 'dkim', 'dmarc', 'spf_or_dkim', 'alignment']);

/** Domains that one check looks at: each costs some look-ups in DNS, and no more finding is needed to see that there are many. */
const CHECKED_MAX = 500;

/** Checks the domains that sent near or over the threshold of a provider within 24 hours, and stores which rules they do not meet. */
export async function checkSenderRules(world: World, node: CheckReader): Promise<{ checked: number; unmet: number }> {
  const { db, clock } = world;
  const busy = (await findBusyDomains(world)).slice(0, CHECKED_MAX);
  const known = await loadUnmetRules(db);
  const found: UnmetRules[] = [];
  for (const { teamId, domainId, providers } of busy) {
    const domain = await findDomain(db, teamId, domainId);
    if (!domain) continue;
    const facts = await readAllFacts(world, node, domain);
    for (const rules of PROVIDER_RULES.filter(({ provider }) => providers.has(provider))) {
      const { provider, level, rules: judged } = judgeProvider(facts, rules);
      const before = known.get(`${domainId} ${provider}`) ?? [];
      // A rule whose records cannot be looked up for a while is as it was.
      const isUnmet = ({ rule, state }: (typeof judged)[number]): boolean =>
        state === 'unmet' || (state === 'not_known' && BY_RECORDS.has(rule) && before.includes(rule));
      const unmet = judged.filter(isUnmet).map(({ rule }) => rule);
      if (level !== 'below' && unmet.length > 0) found.push({ domainId, teamId, provider, level, rules: unmet });
    }
    await nextTurn();
  }
  await replaceUnmetRules(db, found, clock.now());
  return { checked: busy.length, unmet: found.length };
}

interface BusyDomain {
  teamId: string;
  domainId: string;
  providers: Set<string>;
}

/** Finds the domains with mail to a provider whose threshold is near, counted as the provider counts it. */
async function findBusyDomains({ db, clock }: World): Promise<BusyDomain[]> {
  const sums = await sumMailOfProviders(db, { sinceHour: hourAt(clock.now()) - 23 });
  const names = await loadDomainNames(db, [...new Set(sums.map(({ domainId }) => domainId))]);
  const busy = new Map<string, BusyDomain>();
  for (const { provider, threshold, isCountedByPrimaryDomain } of PROVIDER_RULES) {
    if (threshold === null) continue;
    const mail = sums.filter((one) => one.provider === provider && names.has(one.domainId));
    const groups = Map.groupBy(mail, ({ teamId, domainId }) => {
      const name = names.get(domainId) ?? '';
      return `${teamId} ${isCountedByPrimaryDomain ? estimateOrganizationalDomain(name) : name}`;
    });
    for (const group of groups.values()) {
      if (
        !isNear(
          group.reduce((total, { recipients }) => total + recipients, 0),
          threshold,
        )
      )
        continue;
      for (const { teamId, domainId } of group) {
        const one = busy.get(domainId) ?? { teamId, domainId, providers: new Set() };
        one.providers.add(provider);
        busy.set(domainId, one);
      }
    }
  }
  return [...busy.values()];
}

/** DNS answers come from the cache of the resolver where it has them. */
const readAllFacts = async (world: World, node: CheckReader, domain: DomainRow): Promise<Facts> =>
  readFacts(world, node, { domain, auth: await readAuth(world, domain) });

async function readAuth(world: World, domain: DomainRow): Promise<AuthFacts> {
  const unknown = (says: string): AuthFacts => ({
    spf: notKnown(says),
    dkim: notKnown(says),
    dmarc: notKnown(says),
    isSpfStrict: false,
  });
  if (!isDnsAsked(world) || isVerifiedWithoutDns(world, domain))
    return unknown('This server captures all mail, and verifies domains without DNS.');
  // A look-up before anything is published makes resolvers cache that it does not exist.
  if (domain.checked_at === null) return unknown(`The records of ${domain.name} were never looked up.`);
  const records = (await readCurrentRecords(world, domain.id)).filter(
    ({ record, type, key_status: status }) =>
      (record === 'DKIM' && status === 'active') || (record === 'SPF' && type === 'TXT'),
  );
  const [checks, dmarc] = await Promise.all([
    checkRecords(world, domain, records, { cache: true }),
    findDmarc(world, domain.name),
  ]);
  const judge = (kind: 'DKIM' | 'SPF'): Fact => {
    const own = records.filter(({ record }) => record === kind);
    const verdicts = own.map((record) => findCheck(checks, record)?.verdict ?? 'unknown');
    const names = own.map(({ name }) => name).join(', ');
    if (verdicts.includes('right')) return { state: 'met', says: `The ${kind} record at ${names} is in place.` };
    if (verdicts.includes('unknown')) return notKnown(`The ${kind} record at ${names} could not be looked up.`);
    return { state: 'unmet', says: `The ${kind} record at ${names} is missing or wrong.` };
  };
  return { spf: judge('SPF'), dkim: judge('DKIM'), ...dmarc };
}

/** Finds the DMARC policy of a domain, or else of its registered name. */
async function findDmarc({ resolver, config }: World, name: string): Promise<Pick<AuthFacts, 'dmarc' | 'isSpfStrict'>> {
  const primaryDomain = estimateOrganizationalDomain(name);
  const patience = AbortSignal.timeout(config.dns.look_ms);
  const owners = [...new Set([name, primaryDomain])];
  for (const owner of owners) {
    const recordName = `_dmarc.${owner}`;
    const answer = toAnswer(await inTime(resolver.txt(recordName, { cache: true }), patience), (texts) => texts);
    if (answer.kind === 'failed')
      return { dmarc: notKnown(`The DMARC record at ${recordName} could not be looked up.`), isSpfStrict: false };
    const wanted = {
      record: 'DMARC',
      type: 'TXT',
      name: recordName,
      value: '',
      priority: null,
      domain: owner,
    } as const;
    const { verdict, sentence } = compareAnswer(wanted, answer);
    if (verdict === 'absent') continue;
    if (verdict !== 'right') {
      const says = sentence ?? `The DMARC record at ${recordName} is wrong.`;
      return { dmarc: { state: 'unmet', says }, isSpfStrict: false };
    }
    const policy = answer.kind === 'found' ? (answer.records.map(decodeText).find(isDmarc) ?? '') : '';
    const says = `${recordName} has the DMARC policy p=${findTag(policy, 'p') ?? 'none'}.`;
    return { dmarc: { state: 'met', says }, isSpfStrict: findTag(policy, 'aspf') === 's' };
  }
  const says =
    owners.length === 1 ? `${name} has no DMARC record.` : `Neither ${name} nor ${primaryDomain} has a DMARC record.`;
  return { dmarc: { state: 'unmet', says }, isSpfStrict: false };
}
