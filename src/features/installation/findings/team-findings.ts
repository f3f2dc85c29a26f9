import { isoTime } from '../../../platform/clock.ts';
import { listBroadcastPools } from '../../../platform/config/index.ts';
import type { Store } from '../../../platform/store.ts';
import { parseFilter } from '../../../protocol/contact-filter/index.ts';
import { createSendSwitch, readHostChange, readOwnHosts, sendSwitchMovedAt } from '../../../tenancy/instance/index.ts';
import { declaredFor, withoutLost } from '../../audience/index.ts';
import { COUNTED_MAX, buildFinding, type Finding } from '../../../platform/finding.ts';
import {
  broadcastsDue,
  broadcastsInPools,
  broadcastsToFilters,
  domainsInTrouble,
  domainsNamingOtherHost,
  emailsOfTeam,
  failedBroadcasts,
  heldBroadcasts,
  holdsInForce,
  holdsOverTeam,
  webhooksDisabledByHand,
  webhooksInTrouble,
  ssoDomainsLost,
  ssoProvidersInTrouble,
  type DomainInTrouble,
  type Hold,
  type WaitingBroadcast,
} from './findings.store.ts';
import { describeBreaker, listBreakers } from '../../../mail/breakers/index.ts';
import { listUnmetRules } from '../../../mail/sender-rules/index.ts';
import { readRateLimits, streamsBeyond, type StreamRate } from '../../../mail/stream-rates/index.ts';

/** A provider that restarts is no trouble. */
const PROVIDER_FAILING_MS = 60_000;

/** Returns findings about the single sign-on of one team, or of all teams if none is given. */
async function ssoFindings({ db, clock }: Store, teamId: string | undefined): Promise<Finding[]> {
  const rows = await ssoProvidersInTrouble(db, { teamId }, clock.now() - PROVIDER_FAILING_MS);
  const [down, wrong] = (['down', 'wrong'] as const).map((kind) =>
    rows
      .filter((row) => row.fault_kind === kind)
      .map(({ issuer, fault, failing_since: since }) => ({ name: URL.parse(issuer)?.host ?? issuer, since, fault })),
  );
  const lost = await ssoDomainsLost(db, { teamId });
  return [
    ...together('sso_provider_down', down ?? [], (host) => ({
      summary: `The identity provider ${host} does not answer, so nobody can sign in through it: ${down?.[0]?.fault}.`,
    })),
    ...together('sso_provider_wrong', wrong ?? [], (host) => ({
      summary: `The identity provider ${host} returns invalid responses, so nobody can sign in through it: ${wrong?.[0]?.fault}.`,
    })),
    ...together(
      'sso_domain_lost',
      lost.map(({ domain, lost_at: since }) => ({ name: domain, since })),
      (domain) => ({
        summary: `The domain ${domain} is no longer verified, and its addresses cannot use single sign-on: ${lost[0]?.diagnosis ?? 'its record is missing.'}`,
        advice: { words: 'Publish its record again, then run', command: `rasket sso verify-domain ${domain}` },
      }),
    ),
  ];
}

/** A failed attempt is retried within seconds, and is not worth waking anybody. */
const WEBHOOK_FAILING_MS = 60_000;

/** Returns findings about the domains, webhooks and mail of one team, or of all teams if none is given. */
export async function teamFindings(store: Store, teamId?: string): Promise<Finding[]> {
  return [
    ...(await ofDomains(store, teamId)),
    ...(await findFormerHosts(store, teamId)),
    ...(await ssoFindings(store, teamId)),
    ...(await ofWebhooks(store, teamId)),
    ...(await ofHolds(store, teamId)),
    ...(await ofBroadcasts(store, teamId)),
    ...(await ofFailedBroadcasts(store, teamId)),
    ...(await findBrokenSegments(store, teamId)),
    ...(await findMissingPools(store, teamId)),
    ...(await ofMarketing(store, teamId)),
    ...(await findHighRates(store, teamId)),
    ...(await findLimitedSending(store, teamId)),
    ...(await findUnmetRules(store, teamId)),
  ];
}

async function ofDomains({ db }: Store, teamId: string | undefined): Promise<Finding[]> {
  const rows = await domainsInTrouble(db, { teamId });
  const collectTrouble = (of: (row: DomainInTrouble) => number | null): Trouble[] =>
    rows.flatMap((row) => {
      const since = of(row);
      return since === null ? [] : [{ name: row.name, since }];
    });
  const lost = collectTrouble(lostSince);
  const names = new Set(lost.map(({ name }) => name));
  const losing = collectTrouble(losingSince).filter(({ name }) => !names.has(name));
  return [
    ...together('domain_lost', lost, (name) => ({
      summary: `The domain ${name} is no longer verified: its DNS records are missing or wrong.`,
      advice: { words: 'See what is wrong with its records', command: `rasket domains get ${name}` },
    })),
    ...together('domain_losing_records', losing, (name) => ({
      summary: `DNS records of the verified domain ${name} are missing or wrong.`,
      advice: { words: 'See what is wrong with its records', command: `rasket domains get ${name}` },
    })),
  ];
}

/** Reports records with the other host name while a change of the host name is in its grace period. */
async function findFormerHosts(store: Store, teamId: string | undefined): Promise<Finding[]> {
  const change = await readHostChange(store.db);
  const { host, other, endsAt } = await readOwnHosts(store, store.db);
  if (change === undefined || other === undefined) return [];
  const rows = await domainsNamingOtherHost(store.db, { teamId });
  const until = isoTime(endsAt).slice(0, 10);
  return together(
    'former_host_named',
    rows.map(({ name }) => ({ name, since: change.changedAt })),
    (name) => ({
      summary: `DNS records of the domain ${name} contain ${other}, which counts until ${until}; they should contain ${host}.`,
      advice: { words: 'See the records, and publish them with the new name', command: `rasket domains get ${name}` },
    }),
    (count) => ({
      summary: `DNS records of ${count} domains contain ${other}, which counts until ${until}; they should contain ${host}.`,
    }),
  );
}

/** Returns since when the domain is lost, considering only the functions that the team has enabled. */
function lostSince(row: DomainInTrouble): number | null {
  if (row.sending === 'enabled' && row.lost_at !== null) return row.lost_at;
  return row.receiving === 'enabled' ? row.receiving_lost_at : null;
}

function losingSince(row: DomainInTrouble): number | null {
  if (row.sending === 'enabled' && row.verified_at !== null && row.failing_since !== null) return row.failing_since;
  return row.receiving === 'enabled' && row.receiving_verified_at !== null ? row.receiving_failing_since : null;
}

async function ofWebhooks({ db, clock }: Store, teamId: string | undefined): Promise<Finding[]> {
  const rows = await webhooksInTrouble(db, { teamId }, clock.now() - WEBHOOK_FAILING_MS);
  const [disabled, failing] = (['disabled', 'enabled'] as const).map((status) =>
    rows
      .filter((row) => row.status === status)
      .map(({ id, endpoint, failing_since: since }) => ({ name: id, since, endpoint })),
  );
  // An address may hold a secret, which only its team may see.
  const called = (id: string): string =>
    (teamId === undefined ? undefined : rows.find((row) => row.id === id)?.endpoint) ?? id;
  const theirs = teamId === undefined ? 'With a key of its team, see its responses' : 'See its responses';
  const byHand = teamId === undefined ? [] : await webhooksDisabledByHand(db, teamId);
  return [
    ...together('webhook_disabled', disabled ?? [], (id) => ({
      summary: `The webhook ${called(id)} was disabled after five days without success.`,
      advice: {
        words: `${teamId === undefined ? 'With a key of its team, enable' : 'Enable'} it again once its endpoint responds`,
        command: `rasket webhooks update ${id} --status enabled`,
      },
    })),
    ...together('webhook_failing', failing ?? [], (id) => ({
      summary: `All attempts to deliver to the webhook ${called(id)} fail.`,
      advice: { words: theirs, command: `rasket webhooks get ${id}` },
    })),
    ...together(
      'webhook_disabled',
      byHand.map(({ id, disabled_at: since }) => ({ name: id, since: Number(since) })),
      (id) => ({
        severity: 'warning',
        summary: `The webhook ${byHand[0]?.endpoint} is disabled, so no events are sent to it.`,
        advice: {
          words: 'Enable it again, or delete it if it is no longer needed',
          command: `rasket webhooks update ${id} --status enabled`,
        },
      }),
      (count) => ({ severity: 'warning', summary: `${count} webhooks are disabled, so no events are sent to them.` }),
    ),
  ];
}

type KnownHold = Hold & { waiting?: number };

async function ofHolds({ db }: Store, teamId: string | undefined): Promise<Finding[]> {
  const holds: readonly KnownHold[] = teamId === undefined ? await holdsInForce(db) : await ownHolds(db, teamId);
  const advice =
    teamId === undefined ? {} : { advice: { words: 'Ask the operator of this installation', command: null } };
  return together(
    'mail_held',
    holds.map((hold) => ({ name: formatHoldName(hold), since: hold.created_at })),
    (name) => ({ ...(holds[0] ? { summary: formatSummary(name, holds[0]) } : {}), ...advice }),
    (count) => {
      const kept = holds.reduce((sum, { waiting = 0 }) => sum + waiting, 0);
      return {
        summary: `Mail is on hold by ${count} holds${kept === 0 ? '' : `: ${formatWaiting(kept)}`}.`,
        ...advice,
      };
    },
  );
}

const formatHoldName = ({ kind, value }: Hold): string =>
  kind === 'destination' ? value : kind === 'team_id' ? `team ${value}` : `email ${value}`;

function formatSummary(name: string, { kind, reason, created_at: since, waiting = 0 }: KnownHold): string {
  const kept = waiting === 0 ? '' : `: ${formatWaiting(waiting)}`;
  return kind === 'destination' && waiting > 0
    ? `The operator has put mail for ${name} on hold since ${isoTime(since)} (${reason})${kept}.`
    : `Mail is on hold: ${name} (${reason})${kept}.`;
}

function formatWaiting(count: number): string {
  const many = count > COUNTED_MAX ? `more than ${COUNTED_MAX}` : String(count);
  return `${many} of your deliveries ${count === 1 ? 'waits' : 'wait'}`;
}

/** Returns the holds on the team and on its emails, and those on destinations that keep some of its mail. */
async function ownHolds(db: Store['db'], teamId: string): Promise<KnownHold[]> {
  const all = await holdsOverTeam(db, teamId);
  const emails = all.filter(({ kind }) => kind === 'email_id').map(({ value }) => value);
  const own = await emailsOfTeam(db, teamId, emails);
  return all.filter(({ kind, value, waiting }) => {
    if (kind === 'destination') return waiting > 0;
    return kind === 'team_id' ? value === teamId : own.has(value);
  });
}

/** Reports stopped marketing; a team sees it only while its own broadcasts wait. */
async function ofMarketing(store: Store, teamId: string | undefined): Promise<Finding[]> {
  const { isOn, reason } = await createSendSwitch(store, 'sending.marketing')();
  if (isOn) return [];
  const off = `Marketing mail is switched off${reason === null ? '' : `: ${reason}`}.`;
  const since = await sendSwitchMovedAt(store, 'sending.marketing');
  if (teamId === undefined) return [buildFinding('marketing_off', { summary: off, since })];
  const waiting = await broadcastsDue(store.db, teamId, store.clock.now());
  if (waiting.length === 0) return [];
  const many = `${waiting.length} of your broadcasts ${waiting.length === 1 ? 'waits' : 'wait'} for it`;
  const advice = {
    words: 'They continue automatically once it is on; ask the operator of this installation',
    command: null,
  };
  return [buildFinding('marketing_off', { summary: `${off} ${many}.`, since, subjects: waiting, advice })];
}

async function ofBroadcasts({ db }: Store, teamId: string | undefined): Promise<Finding[]> {
  const rows = await heldBroadcasts(db, { teamId });
  const found = rows.map((row) => ({ ...row, since: row.held_since, why: row.held_detail ?? row.held_reason }));
  const many = (count: number) => ({ summary: `${count} broadcasts are on hold.` });
  return together(
    'broadcast_held',
    troubleIn(found),
    createDescriber(found, teamId, ['is on hold', 'resume or cancel it']),
    many,
  );
}

/** Only time ends such a finding. */
const FAILED_MS = 3 * 24 * 3_600_000;

async function ofFailedBroadcasts({ db, clock }: Store, teamId: string | undefined): Promise<Finding[]> {
  const rows = await failedBroadcasts(db, { teamId }, clock.now() - FAILED_MS);
  const found = rows.map((row) => ({ ...row, since: row.updated_at, why: row.failed_reason ?? '' }));
  const many = (count: number) => ({ summary: `${count} broadcasts failed.` });
  return together(
    'broadcast_failed',
    troubleIn(found),
    createDescriber(found, teamId, ['failed', 'duplicate it']),
    many,
  );
}

/**
 * Reports broadcasts to segments that name something deleted: such a condition matches nobody, so fewer contacts get
 * the mail than intended.
 */
async function findBrokenSegments({ db, clock }: Store, teamId: string | undefined): Promise<Finding[]> {
  const broken: WaitingBroadcast[] = [];
  const waiting = (await broadcastsToFilters(db, { teamId })).map((row) => ({
    row,
    filter: JSON.parse(row.filter) as unknown,
  }));
  for (const [team, group] of Map.groupBy(waiting, ({ row }) => row.team_id)) {
    const filters = group.map(({ filter }) => filter);
    const known = await declaredFor(db, team, { filters, now: clock.now() });
    for (const { row, filter } of group) {
      if (row.id === broken.at(-1)?.id) continue;
      if (parseFilter(filter, withoutLost(row, known)).hasUnknown) broken.push(row);
    }
  }
  const [first] = broken;
  if (!first) return [];
  const deleted = 'uses something that was deleted';
  const one =
    teamId === undefined
      ? `The broadcast ${first.id} waits for a segment whose filter ${deleted}.`
      : `The broadcast ${first.name} waits for the segment ${first.segment}, whose filter ${deleted}.`;
  return [
    buildFinding('broadcast_segment_broken', {
      summary: broken.length === 1 ? one : `${broken.length} broadcasts wait for segments whose filter ${deleted}.`,
      since: null,
      subjects: broken.map(({ id }) => id),
      advice: {
        words: `${teamId === undefined ? 'With a key of its team, see' : 'See'} its recipients, then cancel it and send it to another segment`,
        command: `rasket broadcasts checklist ${first.id}`,
      },
    }),
  ];
}

/** Reports broadcasts whose pool was removed from the settings: their mail leaves as other marketing mail does. */
async function findMissingPools({ db, config }: Store, teamId: string | undefined): Promise<Finding[]> {
  const offered = new Set(listBroadcastPools(config));
  const missing = (await broadcastsInPools(db, { teamId })).filter(({ pool }) => !offered.has(pool));
  const [first] = missing;
  if (!first) return [];
  const name = teamId === undefined ? first.id : first.name;
  const one = `The broadcast ${name} chose the pool ${first.pool}, which broadcasts may not choose any more, so its mail leaves as other marketing mail does.`;
  const many = `${missing.length} broadcasts chose pools that broadcasts may not choose any more, so their mail leaves as other marketing mail does.`;
  return [
    buildFinding('broadcast_pool_missing', {
      summary: missing.length === 1 ? one : many,
      since: null,
      subjects: missing.slice(0, COUNTED_MAX).map(({ id }) => id),
      advice:
        teamId === undefined
          ? {
              words: `Add the section [pools.${first.pool}] with broadcasts = true to the settings again, or let the mail leave as it does. Check the settings`,
              command: 'rasket config check',
            }
          : {
              words: 'Cancel it and choose another pool for a copy, or let the mail leave as it does',
              command: `rasket broadcasts get ${first.id}`,
            },
    }),
  ];
}

interface FoundBroadcast {
  id: string;
  name: string;
  since: number;
  why: string;
}

const troubleIn = (found: readonly FoundBroadcast[]): Trouble[] => found.map(({ id, since }) => ({ name: id, since }));

/** Returns a function that describes one broadcast in a sentence; its name is only for its team. */
function createDescriber(found: readonly FoundBroadcast[], teamId: string | undefined, [what, then]: [string, string]) {
  return (id: string): Pick<Finding, 'summary' | 'advice'> => {
    const one = found.find((broadcast) => broadcast.id === id);
    const see = teamId === undefined ? 'With a key of its team, see' : 'See';
    return {
      summary: `The broadcast ${teamId === undefined ? id : (one?.name ?? id)} ${what}: ${one?.why ?? ''}.`,
      advice: { words: `${see} the reason, then ${then}`, command: `rasket broadcasts get ${id}` },
    };
  };
}

/** Finds streams of mail whose last 24 hours exceed the limits at which a broadcast is put on hold. */
async function findHighRates({ db, clock, config }: Store, teamId: string | undefined): Promise<Finding[]> {
  const limits = readRateLimits(config);
  const rates = await streamsBeyond(db, { teamId, now: clock.now(), limits, most: COUNTED_MAX });
  const formatStream = ({ teamId: id, stream }: StreamRate): string =>
    teamId === undefined ? `${stream} of team ${id}` : stream;
  const report = (
    code: 'bounce_rate_high' | 'complaint_rate_high',
    those: readonly StreamRate[],
    describe: (rate: StreamRate) => string,
  ): Finding[] => {
    const [first] = those;
    if (!first) return [];
    const subjects = those.map(formatStream);
    return [buildFinding(code, those.length === 1 ? { subjects, summary: describe(first) } : { subjects })];
  };
  return [
    ...report(
      'bounce_rate_high',
      rates.filter(({ isBeyondBounces }) => isBeyondBounces),
      (rate) => {
        const ended = rate.delivered + rate.bounced;
        const share = `${rate.bounced} of ${ended} recipients bounced (${formatPercent(rate.bounced, ended)} %)`;
        return `Mail of the stream ${formatStream(rate)}: ${share} within 24 hours; the limit is ${limits.bouncePercent} %.`;
      },
    ),
    ...report(
      'complaint_rate_high',
      rates.filter(({ isBeyondComplaints }) => isBeyondComplaints),
      (rate) => {
        const { complained, delivered } = rate;
        const share = `${complained} of ${delivered} recipients reported it as spam (${formatPercent(complained, delivered)} %)`;
        return `Mail of the stream ${formatStream(rate)}: ${share} within 24 hours; the limit is ${limits.complaintPercent} %.`;
      },
    ),
  ];
}

/** Finds circuit breakers that limit mail. */
async function findLimitedSending({ db, config }: Store, teamId: string | undefined): Promise<Finding[]> {
  const open = await listBreakers(db, { teamId, isOpen: true });
  const nameSubject = ({ scope, teamId: id, domainName }: (typeof open)[number]): string => {
    if (scope === 'domain') return domainName;
    return teamId === undefined ? `team ${id}` : 'all domains';
  };
  const [first] = open.toSorted((a, b) => a.trippedAt - b.trippedAt);
  if (!first) return [];
  const subjects = [...new Set(open.map(nameSubject))];
  const summary = `${describeBreaker(first, nameSubject(first), config)}.`;
  const words =
    first.cause === 'complaints'
      ? 'Send only to people who asked for your mail, and make it easy to unsubscribe'
      : 'Remove the addresses that bounce from your lists, and send only to people who asked for your mail';
  const advice =
    teamId === undefined
      ? { words: `${words}. List what is limited, and release it once its cause is gone`, command: 'rasket breakers' }
      : { words: `${words}. See the waiting mail`, command: 'rasket emails list' };
  return [
    buildFinding('sending_limited', {
      ...(open.length === 1
        ? { summary }
        : { summary: `${summary} ${open.length - 1} more of its limits are in force.` }),
      since: first.trippedAt,
      subjects,
      advice,
    }),
  ];
}

/** Finds domains that send much mail to a provider and do not meet its rules for senders. */
async function findUnmetRules({ db, config }: Store, teamId: string | undefined): Promise<Finding[]> {
  const unmet = await listUnmetRules(db, { teamId, limit: COUNTED_MAX });
  const domains = [...new Set(unmet.map(({ domainName }) => domainName))];
  return together(
    'sender_rules_unmet',
    domains.map((name) => ({
      name,
      since: Math.min(...unmet.filter(({ domainName }) => domainName === name).map(({ since }) => since)),
    })),
    (name) => ({
      summary: unmet
        .map(({ provider, rules, level }) => {
          const title = config.providers[provider]?.title ?? provider;
          const amount = level === 'over' ? 'above' : 'near';
          return `The domain ${name} sends ${amount} the threshold of ${title} for bulk senders, and does not meet: ${rules.join(', ')}.`;
        })
        .join(' '),
      advice: {
        words: `${teamId === undefined ? 'With a key of its team, see' : 'See'} what is missing, and what to do`,
        command: `rasket domains rules ${name}`,
      },
    }),
    (count) => ({
      summary: `${count} domains send near or above the threshold of a mailbox provider, and do not meet its rules: ${domains.slice(0, NAMED_MAX).join(', ')}.`,
    }),
  );
}

const NAMED_MAX = 10;

const formatPercent = (bad: number, of: number): string => `${Math.min(100, Math.round((bad * 10_000) / of) / 100)}`;

interface Trouble {
  name: string;
  since: number;
}

type FindingText = Partial<Pick<Finding, 'summary' | 'advice' | 'severity'>>;

/** Makes one finding for everything in the same trouble; names a single one. */
function together(
  code: Finding['code'],
  those: readonly Trouble[],
  ofOne: (name: string) => FindingText,
  ofMany: (count: number) => FindingText = () => ({}),
): Finding[] {
  const [first] = those;
  if (!first) return [];
  const since = Math.min(...those.map((one) => one.since));
  const said = those.length === 1 ? ofOne(first.name) : ofMany(those.length);
  return [buildFinding(code, { ...said, since, subjects: those.map(({ name }) => name) })];
}
