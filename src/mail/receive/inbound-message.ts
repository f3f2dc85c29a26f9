import type { Authentication, NotForwarded } from '../received-emails/index.ts';
import type { MessageContent } from './message-content.ts';
import type { Refusal } from '../../platform/refusal.ts';
import type { World } from '../../platform/world.ts';
import { isGenuineReturnPath, parseAddress, parseReturnPath, type Mailbox } from '../../protocol/address/index.ts';
import { reverseSrs } from '../../protocol/srs.ts';
import type { ReportedDomain } from '../domain-reports/index.ts';
import { receivingDomain, reportAddress, returnPathOwner, sendingNames, unsubscribeAddress } from '../domains/index.ts';
import { readOwnHosts } from '../../tenancy/instance/index.ts';
import { emailRowsByIds, type EmailRow } from '../emails/index.ts';
import { suspendedAmong } from '../../tenancy/teams/index.ts';
import { ruleFor, listRules, readStoredTargets, type InboundRuleRow } from '../inbound-rules/index.ts';

/** A message from the port: the envelope and the content. */
export interface Arrival {
  /** The envelope sender; empty for notices. */
  mailFrom: string;
  routes: readonly Exclude<Route, { kind: 'none' }>[];
  content: MessageContent;
  /** `protocol` as RFC 3848 names it. */
  client: { address: string; name: string; protocol?: string };
  /**
   * True for a notice that this process delivers to itself: one of ours, or one that was screened when it arrived.
   * Screening always keeps it.
   */
  isOwnNotice?: boolean;
}

/** An arrival whose content is in memory. */
export interface LoadedArrival extends Omit<Arrival, 'content'> {
  raw: Buffer;
}

/** A message for at least one team. */
export interface InboundMessage extends Omit<LoadedArrival, 'routes'> {
  /** The addresses that were accepted, by the team they belong to. */
  teams: ReadonlyMap<string, readonly string[]>;
  authentication: Authentication | null;
  /** Teams that get an event and store no content. */
  withoutContent?: ReadonlySet<string>;
  /** Teams whose rule would forward it, with the reason why it is not forwarded. */
  notForwarded?: ReadonlyMap<string, NotForwarded>;
  /** It may contain a token of a person, which no team reads: only the fact that it arrived is stored. */
  isAccountMail?: boolean;
  /** A virus was found: only the fact that the message arrived is stored. */
  hasVirus?: boolean;
}

/** The reason why a message is deferred: its sender should send it again. */
export type Deferral =
  /** clamd does not respond, and the settings accept no message unscanned. */
  | { why: 'no_scanner' }
  /** SPF, DKIM and DMARC were not checked within their limits. */
  | { why: 'unchecked' }
  /** A rule forwards the message, or it is a bounce to be forwarded, and the team may not send at present. */
  | { why: 'not_forwarded'; refusal: Refusal }
  /** The domain has as many reports as it may. */
  | { why: 'too_many_reports' };

/** The result that the server reports to the sender of a message. */
export type ReceiveResult =
  | { kind: 'accepted'; id: string }
  /** The DMARC policy of the domain in From requests its refusal; undefined: its From names no single domain. */
  | { kind: 'refused'; domain: string | undefined }
  | { kind: 'deferred'; deferral: Deferral }
  /** It is none of what the address accepts: complaints, or DMARC and TLS reports. */
  | { kind: 'unwanted'; wanted: 'complaints' | 'domain_reports' | 'unsubscribes' }
  /** It is no bounce, and was sent to a rewritten sender, which accepts only bounces. */
  | { kind: 'no_return' };

/** The destination of mail to an address. */
export type Route =
  | { kind: 'team'; teamId: string; address: string }
  /** The return path of an email that we have sent. */
  | { kind: 'return'; emailId: string; prefix: string }
  /** A sender that we have rewritten: bounces to it are forwarded to `sender`. */
  | { kind: 'rewritten'; teamId: string; domainName: string; address: string; sender: string }
  /** An address to which providers report complaints. */
  | { kind: 'reports' }
  /** The address to which mail servers send DMARC and TLS reports about a domain. */
  | { kind: 'domain_reports'; domain: ReportedDomain }
  /** The address in List-Unsubscribe headers of a team's mail. */
  | { kind: 'unsubscribes'; teamId: string }
  /** `elsewhere`: not an address of this installation. `unknown`: no such address here. `closed`: not now. */
  | { kind: 'none'; because: 'malformed' | 'elsewhere' | 'unknown' | 'closed' };

export async function routeRecipient(world: World, given: string): Promise<Route> {
  const parsed = parseAddress(await standIn(world, given), { allowSingleLabel: true });
  if (!parsed.ok) return { kind: 'none', because: 'malformed' };
  const { address, local, domain } = parsed.mailbox;
  if (isReportAddress(world, address, world.config.instance.host)) return { kind: 'reports' };
  const returned = await returnRoute(world, local, domain);
  if (returned) return returned;
  const rewritten = await rewrittenRoute(world, parsed.mailbox);
  if (rewritten) return rewritten;
  const owner = await receivingDomain(world.db, domain);
  if (!owner) {
    const { other } = await readOwnHosts(world, world.db);
    if (other !== undefined && isReportAddress(world, address, other)) return { kind: 'reports' };
    return (await returnPathRoute(world, parsed.mailbox)) ?? { kind: 'none', because: 'elsewhere' };
  }
  const isClosed = (await suspendedAmong(world.db, [owner.team_id])).length > 0;
  return isClosed ? { kind: 'none', because: 'closed' } : { kind: 'team', teamId: owner.team_id, address };
}

/** RFC 5321 §4.5.1: postmaster is accepted at every name of the server, and without a domain. */
async function standIn(world: World, given: string): Promise<string> {
  const [, domain] = /^postmaster(?:@(.+))?$/i.exec(given) ?? [given, null];
  if (domain === null) return given;
  const { host } = world.config.instance;
  const isOurs =
    domain === undefined ||
    (await readOwnHosts(world, world.db)).all.includes(domain.toLowerCase()) ||
    (await returnPathOwner(world.db, domain.toLowerCase())) !== undefined;
  return isOurs ? world.config.receiving.postmaster.replaceAll('{host}', host) : given;
}

const isReportAddress = ({ config }: World, address: string, host: string): boolean =>
  config.receiving.report_addresses.some(
    (one) => one.replaceAll('{host}', host).toLowerCase() === address.toLowerCase(),
  );

/**
 * Routes mail to a return path. The signed local part identifies the email that bounced; the domain only has to be one
 * of that email's.
 */
async function returnRoute(world: World, local: string, domain: string): Promise<Route | undefined> {
  const path = parseReturnPath(local);
  if (!path) return undefined;
  const macs = [
    (bytes: Uint8Array) => world.secrets.mac('return path', bytes),
    ...world.secrets.otherMacs('return path'),
  ];
  if (!macs.some((mac) => isGenuineReturnPath(path, mac))) return undefined;
  const [email] = await emailRowsByIds(world.db, [path.emailId]);
  // An email past retention has no row that a bounce could change.
  const isOurs =
    email !== undefined && (await listSendingNames(world, email)).some((name) => domain.endsWith(`.${name}`));
  return isOurs ? { kind: 'return', emailId: path.emailId, prefix: path.prefix } : { kind: 'none', because: 'unknown' };
}

/** Lists the domain in From, which may be deleted by now, and for forwarded mail also the domain that forwarded it. */
async function listSendingNames(
  world: World,
  { sender, domain_id: domainId, mail_from, has_message }: EmailRow,
): Promise<string[]> {
  const own = senderDomain(sender);
  if (has_message === 0 || mail_from !== null) return [own];
  return [own, ...(await sendingNames(world.db, [domainId])).map(({ name }) => name)];
}

async function rewrittenRoute(world: World, { address, local, domain }: Mailbox): Promise<Route | undefined> {
  const macs = [
    (bytes: Uint8Array) => world.secrets.mac('sender rewriting', bytes),
    ...world.secrets.otherMacs('sender rewriting'),
  ];
  const path = reverseSrs(local, domain, { now: world.clock.now(), macs });
  if (!path) return undefined;
  const owner = path.kind === 'sender' ? await returnPathOwner(world.db, domain) : undefined;
  // If it lacks our signature, it may be an ordinary address at a domain that receives.
  if (path.kind === 'forged') return undefined;
  if (path.kind === 'expired' || !owner) return { kind: 'none', because: 'unknown' };
  if ((await suspendedAmong(world.db, [owner.team_id])).length > 0) return { kind: 'none', because: 'closed' };
  return { kind: 'rewritten', teamId: owner.team_id, domainName: owner.name, address, sender: path.sender };
}

/**
 * Routes mail to the addresses at the return path of a domain, whether or not the domain itself receives mail. People
 * may also unsubscribe from a team that is suspended.
 */
async function returnPathRoute({ db }: World, { local, domain }: Mailbox): Promise<Route | undefined> {
  const owner = await returnPathOwner(db, domain);
  if (!owner) return undefined;
  const label = domain.slice(0, domain.indexOf('.'));
  const address = `${local.toLowerCase()}@${domain}`;
  const at = { name: owner.name, custom_return_path: label };
  if (address === unsubscribeAddress(at)) return { kind: 'unsubscribes', teamId: owner.team_id };
  if (address !== reportAddress(at)) return undefined;
  if ((await suspendedAmong(db, [owner.team_id])).length > 0) return { kind: 'none', because: 'closed' };
  return { kind: 'domain_reports', domain: { id: owner.id, name: owner.name, returnPath: domain } };
}

function senderDomain(sender: string): string {
  const address = /<([^<>]*)>\s*$/.exec(sender)?.[1] ?? sender;
  return address.slice(address.lastIndexOf('@') + 1).toLowerCase();
}

/** A forward by a rule: one message for all addresses that it matches. */
interface ForwardOrder {
  rule: InboundRuleRow;
  /** The addresses of the message that the rule matches. */
  addresses: string[];
  targets: string[];
}

/** The decision of one team's rules about a message. */
export interface RuleDecision {
  teamId: string;
  /** The addresses whose mail is stored, if only as a notice; empty if all of it is dropped. */
  kept: string[];
  /** All of these addresses are `webhook_only`: the team gets an event, and no content is stored. */
  isWithoutContent: boolean;
  forwards: ForwardOrder[];
}

export async function applyRules(world: World, teamId: string, addresses: readonly string[]): Promise<RuleDecision> {
  const rules = await listRules(world.db, teamId);
  const kept: string[] = [];
  const forwards = new Map<string, ForwardOrder>();
  let isWithoutContent = true;
  for (const address of addresses) {
    const rule = rules.length === 0 ? undefined : ruleFor(rules, address);
    if (rule?.action === 'drop') continue;
    kept.push(address);
    if (rule?.action !== 'webhook_only') isWithoutContent = false;
    if (rule?.action !== 'forward') continue;
    const order = forwards.get(rule.id) ?? { rule, addresses: [], targets: readStoredTargets(rule) };
    order.addresses.push(address);
    forwards.set(rule.id, order);
  }
  return { teamId, kept, isWithoutContent, forwards: [...forwards.values()] };
}
