import type { World } from '../../platform/world/index.ts';
import {
  clickToken,
  openToken,
  readClickToken,
  readOpenToken,
  trackHtml,
  type Click,
  type Mac,
} from '../../protocol/track-links/index.ts';

/** What a domain wants to know of its mail, and the origin of the addresses that tell it. */
export interface TrackingLinks {
  origin: string;
  opens: boolean;
  clicks: boolean;
}

/** The same mail gives the same bytes each time. */
export function trackedHtml(world: World, emailId: string, html: string, links: TrackingLinks): string {
  const { origin, opens, clicks } = links;
  return trackHtml(html, {
    ...(clicks ? { link: (target) => `${origin}/c/${clickToken({ emailId, target }, clickMac(world))}` } : {}),
    ...(opens ? { pixel: `${origin}/o/${openToken(emailId, openMac(world))}.gif` } : {}),
  });
}

export const clickOf = (world: World, token: string): Click | undefined => readClickToken(token, clickMac(world));

/** The id of the email whose pixel this is. */
export const openingOf = (world: World, token: string): string | undefined => readOpenToken(token, openMac(world));

// A token of one purpose is worth nothing for the other.
const clickMac =
  (world: World): Mac =>
  (bytes) =>
    world.secrets.mac('click', bytes);
const openMac =
  (world: World): Mac =>
  (bytes) =>
    world.secrets.mac('open', bytes);
