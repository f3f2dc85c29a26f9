import type { TrackingLinks } from '../../mail/compose/index.ts';
import { nextTurn, stopwatch } from '../../platform/clock.ts';
import { findLinkTargets } from '../../platform/text-thread/index.ts';
import type { World } from '../../platform/world.ts';
import {
  clickToken,
  HTML_CHARS_MAX,
  LINKS_MAX,
  openToken,
  readClickToken,
  readOlderClickToken,
  readOlderOpenToken,
  readOpenToken,
  writeTargets,
  type Click,
  type Mac,
  type MailOfDomain,
  type TrackedMail,
} from '../../protocol/track-links/index.ts';
import { findLinkKind } from '../audience/index.ts';
import { trackingOwner, trackingOwnerAlone, type TrackingOwner } from '../../mail/domains/index.ts';
import { emailRowsByIds } from '../../mail/emails/index.ts';
import { BoundedMap } from '../../platform/limits/index.ts';

/** Number of links that are checked or signed in one turn of the event loop; each may cost a MAC. */
const LINKS_A_TURN = 500;

/**
 * Returns the HTML with tracked links and pixel; the same mail gives the same bytes each time. Unsubscribe links stay
 * as they are: unlike tracked ones they work when the domain is gone or the team suspended, and a link that opens
 * somebody's preferences appears in no event. A mail that asks for consent is not tracked at all: its recipient has not
 * agreed to anything yet.
 */
export async function trackedHtml(
  world: World,
  { teamId, ...mail }: MailOfDomain & { teamId: string },
  html: string,
  links: TrackingLinks,
): Promise<string> {
  if (html.length > HTML_CHARS_MAX) return html;
  const { origin, opens, clicks } = links;
  const found = await world.texts.run({ teamId, chars: html.length, task: findLinkTargets, isPatient: true }, html);
  const isOwn: boolean[] = [];
  for (const { target } of found.links) {
    if (isOwn.length > 0 && isOwn.length % LINKS_A_TURN === 0) await nextTurn();
    const kind = findLinkKind(world, target);
    if (kind === 'confirmation' || kind === 'sign_up') return html;
    isOwn.push(kind !== undefined);
  }
  const mac = createMac(world, CLICK);
  const addresses: (string | undefined)[] = [];
  let written = 0;
  for (const [at, { target }] of (clicks ? found.links : []).entries()) {
    if (written >= LINKS_MAX) break;
    if (addresses.length > 0 && addresses.length % LINKS_A_TURN === 0) await nextTurn();
    const address = isOwn[at] === true ? undefined : `${origin}/c/${clickToken({ ...mail, target }, mac)}`;
    addresses.push(address);
    if (address !== undefined) written++;
  }
  const pixel = `${origin}/o/${openToken(mail, createMac(world, OPENING))}.gif`;
  return writeTargets(html, found, { addresses, ...(opens && { pixel }) });
}

export const readClick = (world: World, token: string): Click | undefined =>
  byAnyKey(world, CLICK, (mac) => readClickToken(token, mac)) ??
  byAnyKey(world, OLDER_CLICK, (mac) => readOlderClickToken(token, mac));

/** Returns the email of a pixel. */
export const readOpening = (world: World, token: string): TrackedMail | undefined =>
  byAnyKey(world, OPENING, (mac) => readOpenToken(token, mac)) ??
  byAnyKey(world, OLDER_OPENING, (mac) => readOlderOpenToken(token, mac));

/** Tries all keys, since mail sent before the instance key was replaced is still read. */
function byAnyKey<T>(world: World, purpose: string, read: (mac: Mac) => T | undefined): T | undefined {
  const found = read(createMac(world, purpose));
  if (found !== undefined) return found;
  for (const mac of world.secrets.otherMacs(purpose)) {
    const older = read(mac);
    if (older !== undefined) return older;
  }
  return undefined;
}

// A token is valid for one purpose only.
const CLICK = 'click of a domain';
const OPENING = 'opening of a domain';
/** Purposes of older tokens, which do not name their domain: such mail is read and clicked for years. */
const OLDER_CLICK = 'click';
const OLDER_OPENING = 'open';

const createMac =
  (world: World, purpose: string): Mac =>
  (bytes) =>
    world.secrets.mac(purpose, bytes);

export interface LinkHosts {
  /** Reports whether an address of this mail works on this host; synchronously if that is known. Never rejects. */
  works(mail: TrackedMail, host: string): boolean | Promise<boolean>;
}

/** Time for which an owner is trusted, since changes by other processes may go unnoticed. */
const FRESH_MS = 1000;
const REMEMBERED_MAX = 10_000;
const WARNED_MAX = 100;

interface Known {
  owner: TrackingOwner | undefined;
  ageMs: () => number;
}

/**
 * Decides on which hosts links work: the tracking host of the domain that sent them, while that domain belongs to its
 * team and the team is not suspended. On any other host a link would mislead people under somebody else's name.
 */
export function createLinkHosts(world: World): LinkHosts {
  const known = new BoundedMap<string, Known>(REMEMBERED_MAX);
  const underWay = new Map<string, Promise<TrackingOwner | undefined>>();
  const warned = new Set<string>();
  // Registered once for the life of the process.
  for (const table of ['domains', 'teams']) world.db.onCommit(table, () => known.clear());
  // Captured mail is read on this machine, under any of its names.
  if (world.config.delivery.capture) return { works: () => true };

  return {
    works(mail, rawHost) {
      const host = toHostName(rawHost);
      if (mail.domainId === undefined) return worksOlder(mail.emailId, host);
      const found = known.get(mail.domainId);
      if (found && found.ageMs() < FRESH_MS) return isAnswered(found.owner, host, mail);
      // Links keep working while the database is down, by the last known owner or by the token alone.
      return lookUp(mail.domainId).then(
        (owner) => isAnswered(owner, host, mail),
        () => !found || isAnswered(found.owner, host, mail),
      );
    },
  };

  async function worksOlder(emailId: string, host: string): Promise<boolean> {
    try {
      const [email] = await emailRowsByIds(world.db, [emailId]);
      // The owner of a removed email is unknown; if there is only one team, it was that one's.
      const owner = email ? await lookUp(email.domain_id) : await trackingOwnerAlone(world.db, toParentHost(host));
      return isAnswered(owner, host, { emailId });
    } catch {
      return true;
    }
  }

  function lookUp(domainId: string): Promise<TrackingOwner | undefined> {
    let looking = underWay.get(domainId);
    if (!looking) {
      const ageMs = stopwatch();
      looking = trackingOwner(world.db, domainId)
        .then((owner) => {
          known.set(domainId, { owner, ageMs });
          return owner;
        })
        .finally(() => underWay.delete(domainId));
      underWay.set(domainId, looking);
    }
    return looking;
  }

  function isAnswered(owner: TrackingOwner | undefined, host: string, { emailId }: TrackedMail): boolean {
    if (!owner?.isLive) return false;
    if (owner.hosts.some(({ name, until }) => name === host && (until === null || world.clock.now() < until)))
      return true;
    // Warns once per domain: a recipient may request a link under a thousand names.
    if (!warned.has(owner.domainId) && warned.size < WARNED_MAX) {
      warned.add(owner.domainId);
      world.log.warn(
        { emailId, host: host.slice(0, 255), expected: owner.hosts[0]?.name },
        'a tracked link was requested on the wrong host; a proxy in front of the server must forward the Host header',
      );
    }
    return false;
  }
}

/** Returns the host without the port and in lower case, as in DNS. */
export const toHostName = (host: string): string => host.replace(/:\d*$/, '').replace(/\.$/, '').toLowerCase();

const toParentHost = (host: string): string => host.slice(host.indexOf('.') + 1);
