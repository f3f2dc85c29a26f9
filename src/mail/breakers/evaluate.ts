import { isoTime } from '../../platform/clock.ts';
import type { Config } from '../../platform/config/index.ts';
import type { Executor } from '../../platform/db/index.ts';
import type { Store } from '../../platform/store.ts';
import type { MailStream } from '../deliver/index.ts';
import { findDomainByName, listDomainNames, sendingNames } from '../domains/index.ts';
import { recordEvents, type SendingLimitData } from '../events/index.ts';
import {
  domainsInTrouble,
  hourAt,
  listReportedLate,
  sumDomains,
  sumTeams,
  type DomainSums,
  type MailSpan,
  type OutcomeSums,
} from '../reputation/index.ts';
import {
  BY_BREAKER,
  hasBreakerThrottles,
  replaceBreakerThrottles,
  THROTTLES_CHANGED,
  type ThrottleRow,
} from '../throttles/index.ts';
import {
  chooseFigures,
  close,
  correctTimes,
  decideBreaker,
  describeFigures,
  describeNext,
  isForgettable,
  readBreakerLimits,
  type BreakerLimits,
} from './breakers.ts';
import {
  insertBreaker,
  listBreakers,
  lockBreakers,
  readBase,
  removeBreaker,
  sumForBreaker,
  updateBreaker,
  type Breaker,
  type BreakerSubject,
} from './breakers.store.ts';

/** Only domains with a bounce or a complaint since the beginning of the hour before this one can trip a breaker. */
const TROUBLE_HOURS = 1;
/** Reports may be about mail from so many days before the window. */
const LATE_DAYS = [1, 2, 6];
const DOMAINS_AT_ONCE = 500;
/** Figures count from a later hour only if a clock that was ahead wrote it; a node may be ahead by one. */
const HOURS_AHEAD_MAX = 1;

type BreakerStore = Pick<Store, 'db' | 'clock' | 'ids' | 'config' | 'log'>;

/** A breaker as it was read, if there is one, and as it should be; undefined if it should be removed. */
interface Change {
  before: Breaker | undefined;
  after: Breaker | undefined;
  countsAnew: boolean;
}

interface Context {
  limits: BreakerLimits;
  now: number;
  /** The mail of the window, and the same with that of more and more days before it. */
  spans: readonly [MailSpan, ...MailSpan[]];
}

/**
 * Returns the spans of mail that are judged. Complaints and returned mail may come days after the mail that they are about, and
 * are compared with that: each span has the reports of the window that are about its mail.
 */
function listSpans(now: number, windowHours: number): Context['spans'] {
  const lastHour = hourAt(now);
  const reportedSince = lastHour - windowHours + 1;
  const span = (sinceHour: number): MailSpan => ({ sinceHour, reportedSince, lastHour });
  // The hours of days that are over are added up, so that only whole days are found.
  const earlier = LATE_DAYS.map((days) => Math.floor((reportedSince - days * 24) / 24) * 24);
  return [span(reportedSince), ...earlier.map(span)];
}

const toKey = ({ subjectId, provider, stream }: Pick<BreakerSubject, 'subjectId' | 'provider' | 'stream'>): string =>
  `${subjectId}\n${provider}\n${stream}`;

/**
 * Judges the mail of all domains and teams with bounces or complaints, and moves all breakers on. Limits of mail, breakers and
 * events are written in one transaction. `syncDelivery` lets the delivery of this process read the limits at once. Returns the
 * numbers of changes.
 */
export async function evaluateBreakers(
  store: BreakerStore,
  { syncDelivery }: { syncDelivery?: (() => Promise<void>) | undefined } = {},
): Promise<{ limited: number; resumed: number }> {
  const { db, clock, config } = store;
  const now = clock.now();
  const limits = readBreakerLimits(config);
  const spans = listSpans(now, config.breakers.window_hours);
  const known = await listBreakers(db);
  const changes = await decideAll(store, known, { limits, now, spans });
  const isAnyOpen = known.some(({ state }) => state !== 'closed');
  // Limits without a breaker are left if its team was deleted at the same time.
  if (changes.length === 0 && !isAnyOpen && !(await hasBreakerThrottles(db))) return { limited: 0, resumed: 0 };
  const { throttles, limited, resumed } = await applyChanges(store, changes);
  if (throttles > 0) await syncDelivery?.();
  return { limited, resumed };
}

/** Writes changes of breakers and everything that follows from them. Changes that another process was faster with are left out. */
export async function applyChanges(
  store: BreakerStore,
  changes: readonly Change[],
): Promise<{ limited: number; resumed: number; throttles: number; written: number }> {
  const { db, clock, config, ids, log } = store;
  const now = clock.now();
  const { news, written, throttles } = await db.tx(async (tx) => {
    await lockBreakers(tx);
    const done: Change[] = [];
    for (const change of changes) if (await writeChange(tx, change, now)) done.push(change);
    const open = await listBreakers(tx, { isOpen: true });
    const domains = await findLimitedDomains(tx, [...open, ...done.flatMap(({ before }) => before ?? [])]);
    const changed = await replaceBreakerThrottles(tx, mergeThrottles(store, open, domains));
    const told = done.filter(isNews);
    await recordEvents(
      tx,
      ids,
      told.flatMap((change) => buildEvents(change, domains, { config, now })),
    );
    return { news: told, written: done.length, throttles: changed };
  });
  if (throttles > 0) db.announce(THROTTLES_CHANGED);
  const count = { limited: 0, resumed: 0, throttles, written };
  for (const { before, after } of news) {
    const one = after ?? before;
    if (!one) continue;
    const isLimited = after !== undefined && after.state !== 'closed';
    count[isLimited ? 'limited' : 'resumed'] += 1;
    const { scope, subjectId, teamId, domainName, provider, stream, state, cause, bad, of, untilAt } = one;
    const fields = { scope, subjectId, teamId, domain: domainName, provider, stream, cause, bad, of };
    if (isLimited) log.warn({ ...fields, state, until: isoTime(untilAt) }, 'a circuit breaker limits mail');
    else log.info(fields, 'a circuit breaker no longer limits mail');
  }
  return count;
}

async function decideAll(store: BreakerStore, known: readonly Breaker[], context: Context): Promise<Change[]> {
  const { db, config, ids } = store;
  const { limits, now, spans } = context;
  const { enabled: isEnabled, transactional: withTransactional } = config.breakers;
  const isJudged = ({ stream }: { stream: MailStream }): boolean =>
    isEnabled && (stream === 'marketing' || withTransactional);
  const left = await findDeletedDomains(db, known);
  const changes: Change[] = [];
  const byKey = new Map(known.map((breaker) => [toKey(breaker), breaker]));
  const observed = isEnabled ? await observeAll(store, context) : new Map<string, Observed>();
  const added = await findAddedAgain(db, known, left);
  for (const before of known) {
    const breaker = correctTimes(before, now);
    const isAhead = before.base !== undefined && before.base.hour > hourAt(now) + HOURS_AHEAD_MAX;
    const domainId = added.get(before.id);
    if (isAhead || domainId !== undefined) {
      changes.push({ before, after: { ...breaker, subjectId: domainId ?? breaker.subjectId }, countsAnew: true });
      continue;
    }
    const seen = observed.get(toKey(before));
    if (isForgettable(breaker, { limits, now }) && seen === undefined) {
      changes.push({ before, after: undefined, countsAnew: false });
      continue;
    }
    // The limits of a domain that was deleted end at their time, unless its team adds it again before.
    const isGone = left.has(before.subjectId) && now >= breaker.untilAt;
    if (breaker.state !== 'closed' && (isGone || !isJudged(breaker))) {
      changes.push({ before, after: { ...breaker, ...close(breaker, now) }, countsAnew: false });
      continue;
    }
    const isMoved = breaker !== before;
    if (breaker.state === 'closed' && seen === undefined) {
      if (isMoved) changes.push({ before, after: breaker, countsAnew: false });
      continue;
    }
    const sums = seen !== undefined && breaker.base === undefined ? seen.sums : await sumForBreaker(db, breaker, spans);
    const decision = decideBreaker(breaker, chooseFigures(sums, limits), { limits, now });
    if (decision) changes.push({ before, after: { ...breaker, ...decision.next }, countsAnew: decision.countsAnew });
    else if (isMoved) changes.push({ before, after: breaker, countsAnew: false });
  }
  const names = new Map<string, string>();
  const unknown = [...observed].flatMap(([key, { subject, sums }]) => {
    const decision = byKey.has(key)
      ? undefined
      : decideBreaker(undefined, chooseFigures(sums, limits), { limits, now });
    return decision ? [{ subject, decision }] : [];
  });
  const domainIds = unknown.filter(({ subject }) => subject.scope === 'domain').map(({ subject }) => subject.subjectId);
  for (const { id, name } of await sendingNames(db, domainIds)) names.set(id, name);
  for (const { subject, decision } of unknown) {
    const domainName = names.get(subject.subjectId) ?? '';
    // A domain that was deleted sends nothing more.
    if (subject.scope === 'domain' && domainName === '') continue;
    const after: Breaker = { ...subject, domainName, ...decision.next, id: ids.uuid(), base: undefined };
    changes.push({ before: undefined, after, countsAnew: false });
  }
  return changes;
}

/** The outcomes of some mail within each span; those of the window only, if all reports of it are about its mail. */
interface Observed {
  subject: BreakerSubject;
  sums: OutcomeSums[];
}

/** Sums up the mail of each domain with a bounce or complaint lately, by provider and altogether, and that of its team. */
async function observeAll({ db, config }: BreakerStore, { spans }: Context): Promise<Map<string, Observed>> {
  const withTransactional = config.breakers.transactional;
  const observed = new Map<string, Observed>();
  const [window] = spans;
  const { lastHour } = window;
  const add = (subject: Omit<BreakerSubject, 'domainName'>, row: OutcomeSums, span: MailSpan): void => {
    const key = toKey(subject);
    const known = observed.get(key);
    // Mail without an outcome in the window has no report to be judged by.
    if (known === undefined && span !== window) return;
    const sums = known?.sums ?? [];
    const at = spans.indexOf(span);
    const before = sums[at];
    sums[at] = {
      accepted: row.accepted + (before?.accepted ?? 0),
      bounced: row.bounced + (before?.bounced ?? 0),
      complained: row.complained + (before?.complained ?? 0),
    };
    observed.set(key, { subject: { ...subject, domainName: '' }, sums });
  };
  const isJudged = ({ isMarketing }: { isMarketing: boolean }): boolean => isMarketing || withTransactional;
  const toStream = ({ isMarketing }: { isMarketing: boolean }): MailStream =>
    isMarketing ? 'marketing' : 'transactional';
  const addDomain = (row: DomainSums, span: MailSpan): void => {
    const subject = {
      teamId: row.teamId,
      scope: 'domain' as const,
      subjectId: row.domainId,
      stream: toStream(row),
    };
    if (row.provider !== '') add({ ...subject, provider: row.provider }, row, span);
    add({ ...subject, provider: '' }, row, span);
  };
  const troubled = await domainsInTrouble(db, { sinceHour: lastHour - TROUBLE_HOURS, lastHour, withTransactional });
  const domainIds = [...new Set(troubled.map(({ domainId }) => domainId))];
  const lateTeams = new Set<string>();
  for (let from = 0; from < domainIds.length; from += DOMAINS_AT_ONCE) {
    const some = domainIds.slice(from, from + DOMAINS_AT_ONCE);
    const late = await listReportedLate(db, { domainIds: some, sinceHour: window.sinceHour, lastHour });
    for (const { teamId } of late) lateTeams.add(teamId);
    const lateIds = late.map(({ domainId }) => domainId);
    for (const span of late.length === 0 ? [window] : spans) {
      const judged = span === window ? some : lateIds;
      for (const row of (await sumDomains(db, { domainIds: judged, span })).filter(isJudged)) addDomain(row, span);
    }
  }
  const teamIds = [...new Set(troubled.map(({ teamId }) => teamId))];
  for (let from = 0; from < teamIds.length; from += DOMAINS_AT_ONCE) {
    const some = teamIds.slice(from, from + DOMAINS_AT_ONCE);
    const late = some.filter((id) => lateTeams.has(id));
    for (const span of late.length === 0 ? [window] : spans) {
      const judged = span === window ? some : late;
      for (const row of (await sumTeams(db, { teamIds: judged, span })).filter(isJudged)) {
        // The breaker of a single domain says the same.
        if (row.domains < 2) continue;
        const stream = toStream(row);
        add({ teamId: row.teamId, scope: 'team', subjectId: row.teamId, provider: '', stream }, row, span);
      }
    }
  }
  return observed;
}

/** Returns the ids of domains of breakers that do not exist any more. */
async function findDeletedDomains(db: Executor, known: readonly Breaker[]): Promise<Set<string>> {
  const ids = known.filter(({ scope }) => scope === 'domain').map(({ subjectId }) => subjectId);
  if (ids.length === 0) return new Set();
  const existing = new Set((await sendingNames(db, ids)).map(({ id }) => id));
  return new Set(ids.filter((id) => !existing.has(id)));
}

/**
 * Returns the new ids of domains that were deleted and that their team has added again, by the id of the breaker. A breaker goes
 * on with the domain that has its name now, or deleting a domain would end its pause.
 */
async function findAddedAgain(
  db: Executor,
  known: readonly Breaker[],
  left: ReadonlySet<string>,
): Promise<Map<string, string>> {
  const taken = new Set(known.map(toKey));
  const added = new Map<string, string>();
  for (const breaker of known) {
    if (!left.has(breaker.subjectId)) continue;
    const domain = await findDomainByName(db, breaker.teamId, breaker.domainName);
    if (domain === undefined) continue;
    const key = toKey({ ...breaker, subjectId: domain.id });
    if (taken.has(key)) continue;
    taken.add(key);
    added.set(breaker.id, domain.id);
  }
  return added;
}

async function writeChange(tx: Executor, { before, after, countsAnew }: Change, now: number): Promise<boolean> {
  if (!after) return before !== undefined && (await removeBreaker(tx, before.id)) === 1;
  const next = countsAnew ? { ...after, base: await readBase(tx, after, now) } : after;
  return before ? updateBreaker(tx, before, next) : insertBreaker(tx, next);
}

/** A domain whose mail a breaker limits. */
interface LimitedDomain {
  id: string;
  name: string;
}

/** Finds the domains whose mail each breaker limits: its own, or all of the team, those included that have sent nothing yet. */
async function findLimitedDomains(
  db: Executor,
  breakers: readonly Breaker[],
): Promise<(breaker: BreakerSubject) => LimitedDomain[]> {
  const ofTeams = new Map<string, LimitedDomain[]>();
  for (const { scope, teamId } of breakers)
    if (scope === 'team' && !ofTeams.has(teamId)) ofTeams.set(teamId, await listDomainNames(db, teamId));
  const domainIds = breakers.filter(({ scope }) => scope === 'domain').map(({ subjectId }) => subjectId);
  const names = new Map((await sendingNames(db, [...new Set(domainIds)])).map(({ id, name }) => [id, name]));
  return ({ scope, subjectId, teamId, domainName }) =>
    scope === 'domain' ? [{ id: subjectId, name: names.get(subjectId) ?? domainName }] : (ofTeams.get(teamId) ?? []);
}

/** Makes the limits of mail of all breakers: of several for the same mail, the strictest. */
function mergeThrottles(
  { ids, config }: BreakerStore,
  open: readonly Breaker[],
  listDomains: (breaker: Breaker) => readonly LimitedDomain[],
): ThrottleRow[] {
  const strictest = new Map<string, ThrottleRow>();
  for (const breaker of open) {
    const { provider, stream, rate, changedAt, untilAt } = breaker;
    for (const { name } of listDomains(breaker)) {
      const row: ThrottleRow = {
        id: ids.uuid(),
        source: '',
        provider,
        servers: '',
        sender_domain: name,
        stream,
        kind: rate === null ? 'suspend' : 'rate',
        value: rate,
        started_at: changedAt,
        until_at: untilAt,
        step: 0,
        reaction: BY_BREAKER,
        reason: describeReason(breaker, config),
      };
      const key = `${name}\n${provider}\n${stream}`;
      const known = strictest.get(key);
      if (known === undefined || isStricter(row, known)) strictest.set(key, row);
    }
  }
  return [...strictest.values()];
}

const isStricter = (row: ThrottleRow, than: ThrottleRow): boolean =>
  (row.value ?? 0) < (than.value ?? 0) || (row.value === than.value && row.until_at > than.until_at);

/** Says why the mail of a breaker is limited, as the end of a sentence after "because". */
export const describeReason = (breaker: Breaker, { breakers }: Pick<Config, 'breakers'>): string =>
  describeFigures(breaker, { isOfTeam: breaker.scope === 'team', windowHours: breakers.window_hours }) +
  describeNext(breaker);

/** Whether a change is an event: a limit began, got stricter or weaker in kind, or ended. Steps of a recovery are none. */
function isNews({ before, after }: Change): boolean {
  const from = before?.state ?? 'closed';
  const to = after?.state ?? 'closed';
  return from !== to && to !== 'recovering';
}

const ACTIONS = { slow: 'slowed', paused: 'paused', probing: 'probing' } as const;

function buildEvents(
  { before, after }: Change,
  listDomains: (breaker: BreakerSubject) => readonly LimitedDomain[],
  { config, now }: { config: Config; now: number },
) {
  const one = after ?? before;
  if (!one) return [];
  const { teamId, scope, provider, stream, cause, bad, of, rate, trippedAt, untilAt, state } = one;
  return listDomains(one).map(({ id, name }) => {
    const common = {
      id,
      name,
      stream,
      scope,
      provider: provider === '' ? null : provider,
      cause,
    };
    if (state !== 'slow' && state !== 'paused' && state !== 'probing')
      return { teamId, type: 'domain.sending_resumed' as const, subjectId: id, at: now, data: common };
    const data: SendingLimitData = {
      ...common,
      action: ACTIONS[state],
      messages_per_minute: rate,
      bad_recipients: bad,
      recipients: of,
      window_hours: config.breakers.window_hours,
      since: isoTime(trippedAt),
      until: isoTime(untilAt),
    };
    return { teamId, type: 'domain.sending_limited' as const, subjectId: id, at: now, data };
  });
}
