import type { Arrival, Receive, ReceiveResult, Route, Deferral } from '../../mail/receive/index.ts';
import type { World } from '../../platform/world.ts';
import { stopwatch } from '../../platform/clock.ts';
import { clientKey } from '../../platform/network/index.ts';
import { parseAddress } from '../../protocol/address/index.ts';
import {
  mustFitCharset,
  readProtocol,
  SmtpReply,
  type PathCommand,
  type ReceivingHandler,
  type Session,
} from './handler.ts';
import { createIntake } from './intake.ts';
import type { ErrorName } from '../../contract/index.ts';
import { createMessageRate } from '../../platform/limits/index.ts';

type Words = readonly [enhanced: string, text: string];

const UNLOOKED: Record<Exclude<Deferral['why'], 'not_forwarded' | 'too_many_reports'>, Words> = {
  no_scanner: ['4.7.0', 'The message cannot be scanned for viruses at present; send it again later'],
  unchecked: ['4.7.0', 'SPF, DKIM and DMARC of the message cannot be checked at present; send it again later'],
};

/** Refusals are written for a team about its own sends; these words describe the recipient's address to the client. */
const NOT_FORWARDED: Partial<Record<ErrorName, Words>> = {
  service_unavailable: ['4.3.2', 'sending is switched off on this installation; send it again later'],
  daily_quota_exceeded: ['4.7.1', 'its owner has reached the daily sending limit; send it again tomorrow'],
  rate_limit_exceeded: ['4.7.1', 'its owner has reached a sending limit; send it again in a minute'],
  concurrent_idempotent_requests: ['4.7.1', 'this message is already being forwarded; send it again in a minute'],
};
const TROUBLE: Words = ['4.3.0', 'forwarding fails because of a problem of this server; send it again later'];

const TOO_MANY_REPORTS = new SmtpReply(
  451,
  '4.7.1',
  'Too many reports about this domain have arrived; send this one again in an hour',
);

/** The reply to a deferral: what is wrong, and when to try again. */
function deferralReply(deferral: Deferral): SmtpReply {
  if (deferral.why === 'too_many_reports') return TOO_MANY_REPORTS;
  if (deferral.why !== 'not_forwarded') return new SmtpReply(451, ...UNLOOKED[deferral.why]);
  const [enhanced, because] = NOT_FORWARDED[deferral.refusal.errorName] ?? TROUBLE;
  return new SmtpReply(451, enhanced, `Mail to this address is forwarded, and ${because}`);
}

type Taken = Exclude<Route, { kind: 'none' }>;

/**
 * The listener for the world. It accepts mail for our domains that receive, for our return paths, and for the addresses of
 * complaints, of reports about domains and of requests to unsubscribe, and refuses everything else at RCPT, so that no message ever has to be sent back.
 */
export function createReceivingHandler(world: World, flow: Receive): ReceivingHandler {
  const { clock, config } = world;
  const { receiving } = config;
  const intake = createIntake(world);
  const mayCome = createMessageRate(clock, receiving.messages_per_minute_per_address);
  const mayReturn = createMessageRate(clock, RETURNS_PER_HOUR, 3_600_000);
  const mayReportFrom = createMessageRate(clock, REPORTS_OF_CLIENT_PER_HOUR, 3_600_000);
  /** The recipients of the transaction under way, by its envelope. */
  const taken = new WeakMap<object, Map<string, Taken>>();
  const refusals = new WeakMap<Session, number>();
  const gone = new WeakSet<Session>();
  const isOwn = ownSessions(world);
  const receive = measured(world, flow);

  function refused(session: Session, reply: SmtpReply): SmtpReply {
    if (isOwn(session)) return reply;
    const count = (refusals.get(session) ?? 0) + 1;
    refusals.set(session, count);
    if (count <= receiving.refusals_max) return reply;
    return new SmtpReply(421, '4.7.0', 'Too many commands were refused; connect again with addresses that exist');
  }

  return {
    greetingDelayMs: receiving.greeting_delay_ms,
    async mail(session, from) {
      mustBeSound(session, from, MAIL_PARAMETERS);
      const client = clientKey(session.remoteAddress);
      intake.mustFit(client, Number((from.args && from.args.SIZE) || 0));
      if (isOwn(session) || mayCome(client)) return Promise.resolve();
      const say = `Your address has sent ${receiving.messages_per_minute_per_address} messages this minute, which is the limit; try again in a minute`;
      throw new SmtpReply(451, '4.7.1', say);
    },
    async rcpt(session, to) {
      mustBeSound(session, to, NONE);
      const routes = taken.get(session.envelope) ?? new Map<string, Taken>();
      taken.set(session.envelope, routes);
      if (routes.size >= receiving.recipients_max && !routes.has(to.address)) {
        throw new SmtpReply(
          452,
          '4.5.3',
          `${receiving.recipients_max} recipients are accepted at a time; send to this one in another transaction`,
        );
      }
      const route = await flow.route(to.address);
      if (route.kind === 'none') throw refused(session, toRefusalReply(route.because, to));
      if (route.kind === 'rewritten' && readMailFrom(session) !== '') throw refused(session, ONLY_BOUNCES);
      mustGoAlone(routes, to.address, route);
      if (route.kind === 'domain_reports') mustFitReport(declaredBytes(session));
      if (route.kind === 'team' && !isOwn(session)) await mustNotComeAgain(flow, session, route.address);
      routes.set(to.address, route);
    },
    async data(session, content) {
      const routes = [...(taken.get(session.envelope)?.values() ?? [])];
      const sender = { client: clientKey(session.remoteAddress), isGone: () => gone.has(session) };
      return intake.take(sender, content, async (message) => {
        const mailFrom = readMailFrom(session);
        for (const route of routes) {
          if (route.kind === 'domain_reports') {
            mustFitReport(message.bytes);
            const isWithin = isOwn(session) || mayReportFrom(`${route.domain.id} ${sender.client}`);
            if (!isWithin) throw TOO_MANY_REPORTS;
          }
          if (!isOwn(session)) mustNotFlood(mayReturn, route);
        }
        await mustStillBeTheirs(flow, routes);
        const result = await receive({
          mailFrom,
          routes,
          content: message,
          client: readClient(session),
          isOwnNotice: mailFrom === '' && isOwn(session),
        });
        return formatReply(result);
      });
    },
    closed: (session) => void gone.add(session),
  };
}

function measured({ ids, meter, tracer }: World, flow: Receive): Receive['receive'] {
  return async (arrival) => {
    const elapsedMs = stopwatch();
    const result = await flow.receive(arrival);
    meter.count('rasket_received_total', { result: result.kind });
    const id = result.kind === 'accepted' ? result.id : ids.uuid();
    tracer.received({ id, result: result.kind, recipients: arrival.routes.length, durationMs: elapsedMs() });
    return result;
  };
}

/** Mail that we deliver to ourselves is of all teams, so it does not count towards the limits of a foreign address. */
const ownSessions =
  ({ ownConnections }: World) =>
  (session: Session): boolean =>
    ownConnections.has(session);

/** The parameters that EHLO offers (RFC 5321 §4.1.1.11); there is none for RCPT. */
const MAIL_PARAMETERS: ReadonlySet<string> = new Set(['SIZE', 'BODY', 'SMTPUTF8']);
const NONE: ReadonlySet<string> = new Set();

function mustBeSound(session: Session, { address, args }: PathCommand, known: ReadonlySet<string>): void {
  const unknown = Object.keys(args || {}).find((name) => !known.has(name));
  if (unknown === undefined) return mustFitCharset(session, address);
  throw new SmtpReply(555, '5.5.4', `The parameter ${unknown.slice(0, 40)} is not supported; leave it out`);
}

const WANTED = {
  complaints: 'complaints in the Abuse Reporting Format',
  unsubscribes: 'mail that a List-Unsubscribe header of this server asks for',
  domain_reports: 'aggregate reports of DMARC (RFC 9990) and TLS reports (RFC 8460)',
};

function formatReply(result: ReceiveResult): string {
  switch (result.kind) {
    case 'accepted':
      return `2.0.0 Stored as ${result.id}`;
    case 'refused':
      throw new SmtpReply(
        550,
        '5.7.26',
        result.domain === undefined
          ? 'DMARC cannot be checked; send one From header with addresses of one domain'
          : `The DMARC policy of ${result.domain} rejects this message; sign it with DKIM`,
      );
    case 'unwanted':
      throw new SmtpReply(550, '5.7.1', `This address accepts only ${WANTED[result.wanted]}`);
    case 'no_return':
      throw new SmtpReply(550, '5.7.1', `${ONLY_RETURNS}; this is not one`);
    case 'deferred':
      throw deferralReply(result.deferral);
  }
}

function readClient(session: Session): Arrival['client'] {
  const { remoteAddress: address, hostNameAppearsAs: name } = session;
  return { address, name: typeof name === 'string' ? name : '', protocol: readProtocol(session) };
}

const readMailFrom = ({ envelope: { mailFrom } }: Session): string => (mailFrom ? mailFrom.address : '');

/** Greylists mail for teams. Bounces and complaints to us are expected and never greylisted. */
async function mustNotComeAgain(flow: Receive, session: Session, recipient: string): Promise<void> {
  const seconds = await flow.greylist({ address: session.remoteAddress, mailFrom: readMailFrom(session), recipient });
  if (seconds === undefined) return;
  throw new SmtpReply(
    451,
    '4.7.1',
    `Greylisted, because this client is not known yet; try again in ${seconds} seconds`,
  );
}

const ONLY_RETURNS = 'This address accepts only bounces of forwarded mail';
/** Bounces have no sender; accepting anything else would make us write to its sender. */
const ONLY_BOUNCES = new SmtpReply(550, '5.7.1', ONLY_RETURNS);
/** Bounces to one sender of a day's mail: more than failing mail causes, and little for an attacker who knows the address. */
const RETURNS_PER_HOUR = 60;

/** Reports about one domain from one client. A provider sends a few in a day, for each of its names. */
const REPORTS_OF_CLIENT_PER_HOUR = 60;
/** Compressed reports are far smaller, and an uncompressed one of this size has more records than are read. */
const REPORT_BYTES_MAX = 10 * 1024 * 1024;

/** Returns the size that the client declared, or 0. */
const declaredBytes = ({ envelope: { mailFrom } }: Session): number =>
  Number((mailFrom && mailFrom.args && mailFrom.args.SIZE) || 0);

function mustFitReport(bytes: number): void {
  if (bytes <= REPORT_BYTES_MAX) return;
  throw new SmtpReply(552, '5.3.4', `A message with a report may have ${REPORT_BYTES_MAX} bytes at most`);
}

/** Names of mail that is accepted or refused by itself, so that refusing it never refuses mail for others with it. */
const ALONE: Partial<Record<Taken['kind'], string>> = {
  rewritten: 'A bounce of forwarded mail',
  domain_reports: 'A report about a domain',
  unsubscribes: 'A request to unsubscribe',
};

function mustGoAlone(routes: ReadonlyMap<string, Taken>, address: string, route: Taken): void {
  const others = [...routes].filter(([known]) => known !== address).map(([, other]) => other);
  const alone = [route, ...others].flatMap(({ kind }) => ALONE[kind] ?? []).at(0);
  if (others.length === 0 || alone === undefined) return;
  throw new SmtpReply(452, '4.5.3', `${alone} has one recipient; send to this one in another transaction`);
}

/** While content arrives, a domain may be deleted or a team suspended; a client that sends again is refused at RCPT. */
async function mustStillBeTheirs(flow: Receive, routes: readonly Taken[]): Promise<void> {
  const byDomain = new Map(
    routes.flatMap((route) => (route.kind === 'team' ? [[extractDomain(route.address), route] as const] : [])),
  );
  for (const { address, teamId } of byDomain.values()) {
    const now = await flow.route(address);
    if (now.kind === 'team' && now.teamId === teamId) continue;
    throw new SmtpReply(
      451,
      '4.3.0',
      `The routing of mail for ${extractDomain(address)} has just changed; send it again`,
    );
  }
}

function mustNotFlood(mayReturn: (address: string) => boolean, route: Taken): void {
  if (route.kind !== 'rewritten' || mayReturn(route.address.toLowerCase())) return;
  const say = `${RETURNS_PER_HOUR} bounces have arrived at this address within an hour, which is the limit; send it again in an hour`;
  throw new SmtpReply(451, '4.7.1', say);
}

function toRefusalReply(because: Extract<Route, { kind: 'none' }>['because'], { address }: PathCommand): SmtpReply {
  switch (because) {
    case 'malformed':
      return new SmtpReply(553, '5.1.3', 'The address is malformed; mail cannot be delivered to it');
    case 'elsewhere':
      return new SmtpReply(
        550,
        '5.7.1',
        `This server does not receive mail for ${domainIn(address)} and does not relay it`,
      );
    case 'unknown':
      return new SmtpReply(550, '5.1.1', 'There is no such address here');
    case 'closed':
      return new SmtpReply(450, '4.2.1', 'This address does not accept mail at present; try again later');
  }
}

const extractDomain = (address: string): string => address.slice(address.lastIndexOf('@') + 1).slice(0, 253);

/** The domain in ASCII, as every client can read it. */
function domainIn(given: string): string {
  const parsed = parseAddress(given, { allowSingleLabel: true });
  return extractDomain(parsed.ok ? parsed.mailbox.address : given).replaceAll(/[^ -~]/g, '?');
}
