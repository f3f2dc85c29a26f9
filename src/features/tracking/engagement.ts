import type { Happening } from '../../mail/events/index.ts';
import { isoTime } from '../../platform/clock.ts';

/** Somebody or something has opened an email or followed a link in it. */
export interface Engagement {
  /** Of the event that it becomes, given when it happened: written twice, it is still one event. */
  id: string;
  at: number;
  emailId: string;
  ipAddress: string;
  userAgent: string;
  /** The target of a click; an opening has none. */
  link?: string;
  /** Its request said that a program made it. */
  machine?: true;
}

export type Click = Engagement & { link: string };

export const isClick = (engagement: Engagement): engagement is Click => engagement.link !== undefined;

/** A line that a crash has cut short is none. */
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
 * The event that an engagement becomes. Without `to`: one message was composed for all, so it is not known which of them has
 * opened it.
 */
export function readingOf(
  { id, at, ipAddress, userAgent, link }: Engagement,
  isMachine: boolean,
): { id: string; at: number } & Happening<'email.opened' | 'email.clicked'> {
  const reader = { ipAddress, timestamp: isoTime(at), userAgent };
  const machine = isMachine ? { machine: true as const } : {};
  return link === undefined
    ? { id, at, type: 'email.opened', data: { open: reader, ...machine } }
    : { id, at, type: 'email.clicked', data: { click: { ...reader, link }, ...machine } };
}
