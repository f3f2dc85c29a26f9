import type { World } from '../../platform/world/index.ts';
import {
  clickToken,
  openToken,
  readClickToken,
  readOlderClickToken,
  readOlderOpenToken,
  readOpenToken,
  trackHtml,
  type Click,
  type Mac,
  type MailOfDomain,
  type TrackedMail,
} from '../../protocol/track-links/index.ts';
import { isPreferenceLink } from '../../resources/contacts/index.ts';

/** What a domain wants to know of its mail, and the origin of the addresses that tell it. */
export interface TrackingLinks {
  origin: string;
  opens: boolean;
  clicks: boolean;
}

/**
 * The same mail gives the same bytes each time. Links to leave by stay as they are: they work on when the domain is gone
 * or the team suspended, as counted ones do not, and what opens somebody's choices stands in no event.
 */
export function trackedHtml(world: World, mail: MailOfDomain, html: string, links: TrackingLinks): string {
  const { origin, opens, clicks } = links;
  const link = (target: string): string | undefined =>
    isPreferenceLink(world, target) ? undefined : `${origin}/c/${clickToken({ ...mail, target }, macOf(world, CLICK))}`;
  return trackHtml(html, {
    ...(clicks ? { link } : {}),
    ...(opens ? { pixel: `${origin}/o/${openToken(mail, macOf(world, OPENING))}.gif` } : {}),
  });
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
