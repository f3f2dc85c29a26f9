import type { World } from '../../platform/world/index.ts';
import { isGenuineReturnPath, parseAddress, parseReturnPath, type Mailbox } from '../../protocol/address/index.ts';
import { reverseSrs } from '../../protocol/srs/index.ts';
import { receivingDomain, returnPathOwner, sendingNames } from '../domains/index.ts';
import { emailRowsByIds, type EmailRow } from '../emails/index.ts';
import { suspendedAmong } from '../../tenancy/teams/index.ts';

/** Where mail to an address goes. */
export type Route =
  | { kind: 'team'; teamId: string; address: string }
  /** The return path of an email that we have sent. */
  | { kind: 'return'; emailId: string; prefix: string }
  /** A sender that we have rewritten: bounces that come to it go to `sender`. */
  | { kind: 'rewritten'; teamId: string; domainName: string; address: string; sender: string }
  /** An address to which providers report complaints. */
  | { kind: 'reports' }
  /** `elsewhere`: not an address of this installation. `unknown`: no such address here. `closed`: not now. */
  | { kind: 'none'; because: 'malformed' | 'elsewhere' | 'unknown' | 'closed' };

export async function routeRecipient(world: World, given: string): Promise<Route> {
  const parsed = parseAddress(await standIn(world, given), { allowSingleLabel: true });
  if (!parsed.ok) return { kind: 'none', because: 'malformed' };
  const { address, local, domain } = parsed.mailbox;
  if (reportAddresses(world).has(address.toLowerCase())) return { kind: 'reports' };
  const returned = await returnRoute(world, local, domain);
  if (returned) return returned;
  const rewritten = await rewrittenRoute(world, parsed.mailbox);
  if (rewritten) return rewritten;
  const owner = await receivingDomain(world.db, domain);
  if (!owner) return { kind: 'none', because: 'elsewhere' };
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
    domain.toLowerCase() === host ||
    (await returnPathOwner(world.db, domain.toLowerCase())) !== undefined;
  return isOurs ? world.config.receiving.postmaster.replaceAll('{host}', host) : given;
}

const reportAddresses = ({ config }: World): Set<string> =>
  new Set(
    config.receiving.report_addresses.map((address) =>
      address.replaceAll('{host}', config.instance.host).toLowerCase(),
    ),
  );

/** The signed local part says which email bounced; the domain only has to be one of that email's. */
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
  const isOurs = email !== undefined && (await namesOf(world, email)).some((name) => domain.endsWith(`.${name}`));
  return isOurs ? { kind: 'return', emailId: path.emailId, prefix: path.prefix } : { kind: 'none', because: 'unknown' };
}

/** The domain in From, which may be deleted by now; of forwarded mail also the domain that forwarded it. */
async function namesOf(
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
  // Without our signature it may be an ordinary address at a domain that receives.
  if (path.kind === 'forged') return undefined;
  if (path.kind === 'expired' || !owner) return { kind: 'none', because: 'unknown' };
  if ((await suspendedAmong(world.db, [owner.team_id])).length > 0) return { kind: 'none', because: 'closed' };
  return { kind: 'rewritten', teamId: owner.team_id, domainName: owner.name, address, sender: path.sender };
}

function senderDomain(sender: string): string {
  const address = /<([^<>]*)>\s*$/.exec(sender)?.[1] ?? sender;
  return address.slice(address.lastIndexOf('@') + 1).toLowerCase();
}
