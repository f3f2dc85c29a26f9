import { defineHook } from '../../platform/hook.ts';
import type { World } from '../../platform/world.ts';
import type { MailOfDomain } from '../../protocol/track-links/index.ts';

/** The tracking that a domain enables, and the origin of the tracking addresses. */
export interface TrackingLinks {
  origin: string;
  opens: boolean;
  clicks: boolean;
}

/**
 * Adds a pixel to the HTML of a message and rewrites its links, so that opens and clicks are reported to the domain.
 */
export const trackHtml =
  defineHook<
    (world: World, mail: MailOfDomain & { teamId: string }, html: string, links: TrackingLinks) => Promise<string>
  >('trackHtml');
