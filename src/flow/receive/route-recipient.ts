import type { World } from '../../platform/world/index.ts';
import { isGenuineReturnPath, parseAddress, parseReturnPath } from '../../protocol/address/index.ts';
import { receivingDomain } from '../../resources/domains/index.ts';
import { emailRowsByIds } from '../../resources/emails/index.ts';
import { suspendedAmong } from '../../resources/teams/index.ts';

/** Where mail to an address goes. */
export type Route =
  | { kind: 'team'; teamId: string; address: string }
  /** The return path of an email that we have sent. */
  | { kind: 'return'; emailId: string; prefix: string }
  /** Where other providers report complaints to. */
  | { kind: 'reports' }
  /** `elsewhere`: not an address of this installation. `unknown`: nobody here. `closed`: not now. */
  | { kind: 'none'; because: 'malformed' | 'elsewhere' | 'unknown' | 'closed' };

export async function routeRecipient(world: World, given: string): Promise<Route> {
  const parsed = parseAddress(given, { allowSingleLabel: true });
  if (!parsed.ok) return { kind: 'none', because: 'malformed' };
  const { address, local, domain } = parsed.mailbox;
  if (reportAddresses(world).has(address.toLowerCase())) return { kind: 'reports' };
  const returned = await returnRoute(world, local, domain);
  if (returned) return returned;
  const owner = await receivingDomain(world.db, domain);
  if (!owner) return { kind: 'none', because: 'elsewhere' };
  const isClosed = (await suspendedAmong(world.db, [owner.team_id])).length > 0;
  return isClosed ? { kind: 'none', because: 'closed' } : { kind: 'team', teamId: owner.team_id, address };
}

const reportAddresses = ({ config }: World): Set<string> =>
  new Set(
    config.receiving.report_addresses.map((address) =>
      address.replaceAll('{host}', config.instance.host).toLowerCase(),
    ),
  );

/** What is signed by us alone says whose bounce it is; the domain only has to be that email's own. */
async function returnRoute(world: World, local: string, domain: string): Promise<Route | undefined> {
  const path = parseReturnPath(local);
  if (!path) return undefined;
  const macs = [
    (bytes: Uint8Array) => world.secrets.mac('return path', bytes),
    ...world.secrets.otherMacs('return path'),
  ];
  if (!macs.some((mac) => isGenuineReturnPath(path, mac))) return undefined;
  const [email] = await emailRowsByIds(world.db, [path.emailId]);
  // Of an email past retention nothing is left that a bounce could change.
  const isOurs = email !== undefined && domain.endsWith(`.${senderDomain(email.sender)}`);
  return isOurs ? { kind: 'return', emailId: path.emailId, prefix: path.prefix } : { kind: 'none', because: 'unknown' };
}

function senderDomain(sender: string): string {
  const address = /<([^<>]*)>\s*$/.exec(sender)?.[1] ?? sender;
  return address.slice(address.lastIndexOf('@') + 1).toLowerCase();
}
