import { defineHook } from '../../platform/hook.ts';
import type { World } from '../../platform/world.ts';
import type { MailOfDomain } from '../../protocol/track-links/index.ts';

/** What a domain wants to know of its mail, and the origin of the addresses that tell it. */
export interface TrackingLinks {
  origin: string;
  opens: boolean;
  clicks: boolean;
}

/** Writes links and the pixel that tell a domain what was opened and clicked into the HTML of a message. */
export const trackHtml =
  defineHook<
    (world: World, mail: MailOfDomain & { teamId: string }, html: string, links: TrackingLinks) => Promise<string>
  >('trackHtml');
