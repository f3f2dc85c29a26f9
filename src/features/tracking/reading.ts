import type { Happening } from '../../mail/events/index.ts';
import { isoTime } from '../../platform/clock/index.ts';
import type { Engagement } from './engagement.ts';

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
