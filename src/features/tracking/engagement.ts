import type { EventDraft } from '../../mail/events/index.ts';
import { isoTime } from '../../platform/clock.ts';

/** An opening of an email or a click on a link in it, by a person or a program. */
export interface Engagement {
  /** Id of the resulting event, assigned when it happened: written twice, it is still one event. */
  id: string;
  at: number;
  emailId: string;
  ipAddress: string;
  userAgent: string;
  /** Target of a click; absent for an opening. */
  link?: string;
  /** The request identified itself as made by a program. */
  machine?: true;
}

export type Click = Engagement & { link: string };

export const isClick = (engagement: Engagement): engagement is Click => engagement.link !== undefined;

/** Parses a line of the journal; returns undefined for one that a crash has cut short. */
export function parseEngagement(line: string): Engagement | undefined {
  try {
    const engagement = JSON.parse(line) as Partial<Engagement>;
    return typeof engagement.id === 'string' && typeof engagement.emailId === 'string'
      ? (engagement as Engagement)
      : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns the event for an engagement. It has no `to`: one message was composed for all recipients, so it is unknown
 * which one opened it.
 */
export function toReadingEvent(
  { id, at, ipAddress, userAgent, link }: Engagement,
  isMachine: boolean,
): { id: string; at: number } & EventDraft<'email.opened' | 'email.clicked'> {
  const reader = { ipAddress, timestamp: isoTime(at), userAgent };
  const machine = isMachine ? { machine: true as const } : {};
  return link === undefined
    ? { id, at, type: 'email.opened', data: { open: reader, ...machine } }
    : { id, at, type: 'email.clicked', data: { click: { ...reader, link }, ...machine } };
}
