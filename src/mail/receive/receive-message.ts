import { clientKey } from '../../platform/network/index.ts';
import { Refusal } from '../../platform/refusal.ts';
import { defineHook } from '../../platform/hook.ts';
import type { Store } from '../../platform/store.ts';
import type { World } from '../../platform/world.ts';
import { isReturn, readReport, type MailReport } from '../../protocol/mail-report.ts';
import type { MessageReading } from '../../protocol/read-message/index.ts';
import type { Authentication, NotForwarded } from '../received-emails/index.ts';
import { createReceiveDomainReport } from '../domain-reports/index.ts';
import { findDomainByName, sendingNames } from '../domains/index.ts';
import type { Accept } from '../accept/index.ts';
import {
  applyRules,
  routeRecipient,
  type RuleDecision,
  type Arrival,
  type LoadedArrival,
  type Route,
  type ReceiveResult,
} from './inbound-message.ts';
import { createGreylist, type Greylist } from './greylist.ts';
import {
  contentKey,
  createForwarder,
  ACCOUNT_MAIL,
  forwardBlockers,
  type Forwardable,
  type Forwarder,
  type ForwardJob,
} from './forwarder.ts';
import { createAuthenticator, screenMessage } from './screen-message.ts';
import { freeLargeMemory } from './message-content.ts';
import { createMessageParser } from './parse-message.ts';
import { createStoreMessage, type Received } from './store-message.ts';
import { settleReport } from '../settle/index.ts';
import { accountMailAmong } from '../emails/index.ts';

/** The Message-ID of a message that we compose begins with the id of its email. */
const EMAIL_ID = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?=@)/gi;
/** The fields with the id of the message itself, and of the one that it replies to or forwards. */
const NAMING = ['message-id', 'in-reply-to', 'references', 'resent-message-id', 'x-original-message-id'];
const SCANNED_MAX = 256 * 1024;
const IDS_MAX = 1000;

/**
 * Reports whether a message that arrived is mail of this installation about an account, whichever node sent it, or
 * names such mail as the one that it replies to or returns: it may contain a token. Recognized by Message-ID, which
 * relays keep; a sender who makes one up only withholds the own message. In the development profile the one reader may
 * read all mail.
 */
async function holdsAccountMail(world: World, raw: Buffer, reading: MessageReading): Promise<boolean> {
  if (world.config.profile === 'development') return false;
  const ids = new Set<string>();
  for (const text of naming(raw, reading)) {
    for (const [id] of text.matchAll(EMAIL_ID)) if (ids.size < IDS_MAX) ids.add(id.toLowerCase());
  }
  return (await accountMailAmong(world.db, [...ids])).size > 0;
}

function naming(raw: Buffer, reading: MessageReading): string[] {
  if (!reading.isRead) return [readStart(raw)];
  const { headers, parts, text, html } = reading;
  const returned = parts.filter(({ contentType }) => /^(?:message\/|text\/rfc822-headers)/i.test(contentType));
  const named = [...NAMING.map((name) => headers[name] ?? ''), ...returned.map(({ content }) => readStart(content))];
  // Some servers include the original message in the text of their notice.
  return [...named, ...[text, html].map((body) => (body ?? '').slice(0, SCANNED_MAX))];
}

const readStart = (content: Uint8Array): string =>
  Buffer.from(content.buffer, content.byteOffset, Math.min(content.byteLength, SCANNED_MAX)).toString('latin1');

/** Unsubscribes whom the subject of mail to the unsubscribe address names; returns false if it names nobody. */
export const applyUnsubscribeMail =
  defineHook<(store: Store, mail: { teamId: string; subject: string }) => Promise<boolean>>('applyUnsubscribeMail');

export interface Receive {
  /** Returns the destination of mail to this address, or why it is not accepted. */
  route(address: string): Promise<Route>;
  /** Decides whether an unknown client has to try again first. */
  greylist: Greylist;
  /** Resolves when everything that follows from the message is synced; its `id` is for the reply to the client. */
  receive(arrival: Arrival): Promise<ReceiveResult>;
  close(): Promise<void>;
}

/** `wakeQueue` is called when deliveries were queued without `accept`. */
export function createReceive(world: World, accept: Accept, wakeQueue: () => void): Receive {
  const parser = createMessageParser(world);
  const storeMessage = createStoreMessage(world);
  const authenticator = createAuthenticator(world);
  const forwarder = createForwarder(world, accept);
  const receiveDomainReport = createReceiveDomainReport(world);

  async function storeAndForward(
    arrival: LoadedArrival,
    reading: MessageReading,
    screened: Screened,
  ): Promise<ReceiveResult> {
    const { authentication, virus } = screened;
    // All teams' rules are applied, and their forwards checked, before anything is stored.
    const decisions: RuleDecision[] = [];
    for (const [teamId, addresses] of groupByTeam(arrival)) decisions.push(await applyRules(world, teamId, addresses));
    const isClean = virus === undefined;
    const isAccountMail = await holdsAccountMail(world, arrival.raw, reading);
    const mayForward = isClean && !isAccountMail;
    const refusal = mayForward ? await refusalToForward(forwarder, arrival, decisions) : undefined;
    if (refusal) return deferred(refusal);
    await settleReturned(world, arrival, reading, wakeQueue);
    const keeping = decisions.filter(({ kept }) => kept.length > 0);
    const received = await storeMessage(
      {
        ...arrival,
        authentication,
        teams: new Map(keeping.map(({ teamId, kept }) => [teamId, kept])),
        withoutContent: new Set(keeping.flatMap((one) => (one.isWithoutContent ? [one.teamId] : []))),
        notForwarded: isAccountMail
          ? findBlockedForwards(world, keeping)
          : await forwardBlockers(world, arrival.raw, keeping),
        isAccountMail,
        hasVirus: !isClean,
      },
      reading,
    );
    const jobs = mayForward ? [...ruleForwards(received, keeping), ...bouncesToSenders(arrival)] : [];
    const laterRefusal = await forwardAll(world, forwarder, { arrival, reading, checks: authentication }, jobs);
    if (laterRefusal) return deferred(laterRefusal);
    return { kind: 'accepted', id: received[0]?.id ?? world.ids.uuid() };
  }

  /** Stores a DMARC or TLS report about a domain. It is screened as other mail, and never stored as mail. */
  async function takeDomainReport(
    arrival: Arrival,
    reading: MessageReading,
    { domain }: Extract<Route, { kind: 'domain_reports' }>,
  ): Promise<ReceiveResult> {
    const { mailFrom } = arrival;
    const screened = await screenMessage(world, authenticator, arrival, [`reports@${domain.returnPath}`]);
    if (screened.kind === 'refuse') return { kind: 'refused', domain: screened.domain };
    if (screened.kind === 'defer') return { kind: 'deferred', deferral: screened.deferral };
    const { authentication, virus } = screened;
    const accepted: ReceiveResult = { kind: 'accepted', id: world.ids.uuid() };
    if (virus !== undefined) {
      world.log.warn({ virus, mailFrom }, 'received a virus');
      return accepted;
    }
    try {
      const receipt = await receiveDomainReport(domain, { reading, authentication, mailFrom });
      if (receipt === 'accepted') return accepted;
      if (receipt === 'not_a_report') {
        world.log.info({ domain: domain.name, mailFrom }, 'refused mail to a report address without a report');
        return { kind: 'unwanted', wanted: 'domain_reports' };
      }
    } catch (error) {
      // Too many reports wait to be parsed.
      if (!(error instanceof Refusal)) throw error;
      world.log.warn({ domain: domain.name, mailFrom, because: error.message }, 'deferred a report about a domain');
    } finally {
      if (arrival.content.isFile) listPartContents(reading).forEach(freeLargeMemory);
    }
    return { kind: 'deferred', deferral: { why: 'too_many_reports' } };
  }

  return {
    route: (address) => routeRecipient(world, address),
    greylist: createGreylist(world),
    async receive(arrival) {
      const reading = await parser.parseMessage(clientKey(arrival.client.address), arrival.content);
      const recipients = arrival.routes.flatMap((route) =>
        route.kind === 'team' || route.kind === 'rewritten' ? [route.address] : [],
      );
      const [route] = arrival.routes;
      if (route?.kind === 'domain_reports') return takeDomainReport(arrival, reading, route);
      if (route?.kind === 'unsubscribes') return takeUnsubscribe(world, arrival, { reading, teamId: route.teamId });
      if (recipients.length === 0) return settleReturned(world, arrival, reading, wakeQueue);
      const isForRewrittenSender = arrival.routes.some(({ kind }) => kind === 'rewritten');
      if (isForRewrittenSender && !isReturn(reading)) return { kind: 'no_return' };
      const screened = await screenMessage(world, authenticator, arrival, recipients);
      if (screened.kind === 'refuse') return { kind: 'refused', domain: screened.domain };
      if (screened.kind === 'defer') return { kind: 'deferred', deferral: screened.deferral };
      const { virus } = screened;
      if (virus !== undefined) world.log.warn({ virus, mailFrom: arrival.mailFrom }, 'received a virus');
      const { content, ...rest } = arrival;
      const raw = await content.whole();
      try {
        return await storeAndForward({ ...rest, raw }, reading, screened);
      } finally {
        if (content.isFile) for (const bytes of [raw, ...listPartContents(reading)]) freeLargeMemory(bytes);
      }
    },
    close: async () => void (await Promise.all([parser.close(), authenticator.close()])),
  };
}

/**
 * Unsubscribes the holder of a token. Nothing else of the message is used or stored, and it is never answered. Bounces
 * and automatic replies change nothing; a request that a mail program generates may say so.
 */
async function takeUnsubscribe(
  world: World,
  { mailFrom }: Arrival,
  { reading, teamId }: { reading: MessageReading; teamId: string },
): Promise<ReceiveResult> {
  const accepted: ReceiveResult = { kind: 'accepted', id: world.ids.uuid() };
  const headers = reading.isRead ? reading.headers : {};
  const isReply = /^\s*auto-replied\b/i.test(headers['auto-submitted'] ?? '');
  const isReport = /^\s*multipart\/report\b/i.test(headers['content-type'] ?? '');
  if (mailFrom === '' || isReply || isReport) {
    world.log.info({ teamId, mailFrom }, 'ignored a bounce or an automatic reply to an unsubscribe address');
    return accepted;
  }
  const subject = reading.isRead ? reading.subject : '';
  return (await applyUnsubscribeMail.call(world, { teamId, subject }))
    ? accepted
    : { kind: 'unwanted', wanted: 'unsubscribes' };
}

const listPartContents = (reading: MessageReading): Uint8Array[] =>
  reading.isRead ? reading.parts.map(({ content }) => content) : [];

const deferred = (refusal: Refusal): ReceiveResult => ({
  kind: 'deferred',
  deferral: { why: 'not_forwarded', refusal },
});

/** Returns, by team, why its rules do not forward mail about an account; logs it for each address. */
function findBlockedForwards({ mailLog }: World, decisions: readonly RuleDecision[]): Map<string, NotForwarded> {
  const held = new Map<string, NotForwarded>();
  for (const { teamId, forwards } of decisions) {
    for (const address of forwards.flatMap(({ addresses }) => addresses))
      mailLog.notForwarded({ teamId, address, because: ACCOUNT_MAIL.says });
    if (forwards.length > 0) held.set(teamId, ACCOUNT_MAIL.reason);
  }
  return held;
}

interface Screened {
  authentication: Authentication;
  virus: string | undefined;
}

function groupByTeam(arrival: Pick<Arrival, 'routes'>): Map<string, string[]> {
  const teams = new Map<string, string[]>();
  for (const route of arrival.routes) {
    if (route.kind === 'team') teams.set(route.teamId, [...(teams.get(route.teamId) ?? []), route.address]);
  }
  return teams;
}

/**
 * Returns the reason why the first of the teams that would forward may not send at present. Checked before anything is
 * stored: a deferred message is sent again and again, and must not be stored each time.
 */
async function refusalToForward(
  forwarder: Forwarder,
  { routes }: Pick<Arrival, 'routes'>,
  decisions: readonly RuleDecision[],
): Promise<Refusal | undefined> {
  const teams = [
    ...decisions.flatMap(({ teamId, forwards }) => (forwards.length > 0 ? [teamId] : [])),
    ...routes.flatMap((route) => (route.kind === 'rewritten' ? [route.teamId] : [])),
  ];
  for (const teamId of new Set(teams)) {
    const refusal = await forwarder.refusalNow(teamId);
    if (refusal) return refusal;
  }
  return undefined;
}

/** A forward whose domain has not been looked up yet. */
type PlannedForward = Omit<ForwardJob, 'domain'> & { domainName: string };

function ruleForwards(received: readonly Received[], decisions: readonly RuleDecision[]): PlannedForward[] {
  return decisions.flatMap(({ teamId, forwards }) => {
    const id = received.find((one) => one.teamId === teamId)?.id ?? '';
    return forwards.map(({ rule, addresses, targets }): PlannedForward => {
      const [address = ''] = addresses;
      const tags = [
        { name: 'inbound_rule', value: rule.id },
        { name: 'received_email', value: id },
      ];
      const domainName = address.slice(address.lastIndexOf('@') + 1).toLowerCase();
      return { teamId, address, domainName, targets, sender: 'rewritten', tags, key: `${id} ${rule.id}` };
    });
  });
}

/** Bounces of forwarded mail go to the sender of the forwarded message, and to no other address. */
const bouncesToSenders = ({ routes, raw }: LoadedArrival): PlannedForward[] =>
  routes.flatMap((route): PlannedForward[] => {
    if (route.kind !== 'rewritten') return [];
    const { teamId, address, sender, domainName } = route;
    const key = contentKey(raw, address);
    return [{ teamId, address, domainName, targets: [sender], sender: 'empty', tags: [], key }];
  });

/** Forwards each of them; returns the last refusal that is only temporary. */
async function forwardAll(
  world: World,
  forwarder: Forwarder,
  message: Forwardable,
  planned: readonly PlannedForward[],
): Promise<Refusal | undefined> {
  let refusal: Refusal | undefined;
  for (const { domainName, ...job } of planned) {
    const domain = await findDomainByName(world.db, job.teamId, domainName);
    const [sending] = domain ? await sendingNames(world.db, [domain.id]) : [];
    if (!sending) continue;
    const returnPathDomain = `${sending.custom_return_path}.${sending.name}`;
    const result = await forwarder.forward(message, { ...job, domain: { id: sending.id, returnPathDomain } });
    if (result instanceof Refusal) refusal = result;
  }
  return refusal;
}

type ReturnRoute = Extract<Route, { kind: 'return' }>;

/**
 * Settles a bounce or a complaint that was sent to our return paths or report addresses. Only the signed return path
 * identifies the email: anybody can write anything into a report. Calls `onNotice` when settling has queued a delivery
 * notice.
 */
async function settleReturned(
  world: World,
  arrival: Pick<Arrival, 'routes' | 'mailFrom'>,
  reading: MessageReading,
  onNotice: () => void,
): Promise<ReceiveResult> {
  const { routes, mailFrom } = arrival;
  const returns = routes.filter((route) => route.kind === 'return');
  const isForReports = routes.some((route) => route.kind === 'reports');
  const accepted: ReceiveResult = { kind: 'accepted', id: world.ids.uuid() };
  if (returns.length === 0 && !isForReports) return accepted;
  const report = readReport(reading, mailFrom);
  if (report.kind === 'none') {
    world.log.info(
      { because: report.because, mailFrom, emailIds: returns.map((route) => route.emailId) },
      'received returned mail that changes nothing',
    );
    return returns.length === 0 ? { kind: 'unwanted', wanted: 'complaints' } : accepted;
  }
  const settled = new Map<string, ReturnRoute>();
  for (const route of [...returns, ...(isForReports ? await namedIn(world, report) : [])])
    settled.set(`${route.emailId} ${route.prefix}`, route);
  for (const { emailId, prefix } of settled.values()) {
    if (await settleReport(world, { emailId, prefix, report })) onNotice();
  }
  return accepted;
}

/** Returns our return paths that a complaint names as envelope sender: they are signed, so that none can be made up. */
async function namedIn(world: World, report: Exclude<MailReport, { kind: 'none' }>): Promise<ReturnRoute[]> {
  if (report.kind !== 'complaint') return [];
  const routes: ReturnRoute[] = [];
  for (const sender of report.envelopeSenders) {
    const route = await routeRecipient(world, sender);
    if (route.kind === 'return') routes.push(route);
  }
  return routes;
}
