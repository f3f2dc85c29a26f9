import { nextTurn } from '../../platform/clock/index.ts';
import { findLinkTargets } from '../../platform/text-thread/index.ts';
import type { World } from '../../platform/world/index.ts';
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
import { isPreferenceLink } from '../audience/contacts/index.ts';

/** What a domain wants to know of its mail, and the origin of the addresses that tell it. */
export interface TrackingLinks {
  origin: string;
  opens: boolean;
  clicks: boolean;
}

/** Number of links that are signed in one turn of the event loop; each costs a MAC. */
const LINKS_A_TURN = 500;

/**
 * The same mail gives the same bytes each time. Links to leave by stay as they are: they work on when the domain is gone
 * or the team suspended, as counted ones do not, and what opens somebody's choices stands in no event.
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
  const mac = macOf(world, CLICK);
  const addresses: (string | undefined)[] = [];
  let written = 0;
  for (const { target } of clicks ? found.links : []) {
    if (written >= LINKS_MAX) break;
    if (addresses.length > 0 && addresses.length % LINKS_A_TURN === 0) await nextTurn();
    const address = isPreferenceLink(world, target) ? undefined : `${origin}/c/${clickToken({ ...mail, target }, mac)}`;
    addresses.push(address);
    if (address !== undefined) written++;
  }
  const pixel = `${origin}/o/${openToken(mail, macOf(world, OPENING))}.gif`;
  return writeTargets(html, found, { addresses, ...(opens && { pixel }) });
}

export const clickOf = (world: World, token: string): Click | undefined =>
  byAnyKey(world, CLICK, (mac) => readClickToken(token, mac)) ??
  byAnyKey(world, OLDER_CLICK, (mac) => readOlderClickToken(token, mac));

/** The email whose pixel this is. */
export const openingOf = (world: World, token: string): TrackedMail | undefined =>
  byAnyKey(world, OPENING, (mac) => readOpenToken(token, mac)) ??
  byAnyKey(world, OLDER_OPENING, (mac) => readOlderOpenToken(token, mac));

/** Mail that was sent before the instance key was replaced is still read. */
function byAnyKey<T>(world: World, purpose: string, read: (mac: Mac) => T | undefined): T | undefined {
  const found = read(macOf(world, purpose));
  if (found !== undefined) return found;
  for (const mac of world.secrets.otherMacs(purpose)) {
    const older = read(mac);
    if (older !== undefined) return older;
  }
  return undefined;
}

// A token of one purpose is worth nothing for another.
const CLICK = 'click of a domain';
const OPENING = 'opening of a domain';
/** Mail that went out before tokens named their domain is read and clicked for years. */
const OLDER_CLICK = 'click';
const OLDER_OPENING = 'open';

const macOf =
  (world: World, purpose: string): Mac =>
  (bytes) =>
    world.secrets.mac(purpose, bytes);
