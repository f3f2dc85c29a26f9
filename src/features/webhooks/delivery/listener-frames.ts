import type { KeyObject } from 'node:crypto';
import { webhookHeaders } from '../../../protocol/webhook-signature.ts';

/** Position at which a stream broke off, as its client reports it in `Last-Event-ID`. */
export interface StreamPosition {
  listenerId: string;
  batch: number;
  /** Id of the last event of the batch that the client saw; the zero id if it saw none. */
  eventId: string;
}

export const NO_EVENT = '00000000-0000-0000-0000-000000000000';

const POSITION = /^(lsn_[0-9a-f]{32})\.(\d{1,15})\.([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/;

/** Parses a position; returns undefined if the text is none of ours. */
export function readPosition(text: string): StreamPosition | undefined {
  const [, listenerId = '', batch = '', ...uuid] = POSITION.exec(text) ?? [];
  return listenerId === '' ? undefined : { listenerId, batch: Number(batch), eventId: uuid.join('-') };
}

export const writePosition = ({ listenerId, batch, eventId }: StreamPosition): string =>
  `${listenerId}.${batch}.${eventId.replaceAll('-', '')}`;

/** Reason that the server ends a stream. Only after `shutting_down` does it help to reconnect at once. */
export type ClosedReason = 'shutting_down' | 'key_revoked' | 'session_ended' | 'lost';

const CLOSED: Record<ClosedReason, string> = {
  shutting_down: 'The server is stopping; connect again to continue where this stream ends.',
  key_revoked: 'The API key is no longer valid.',
  session_ended: 'The session has ended or has switched to another team; sign in again.',
  lost: 'Another stream took over this listener, or too many events were waiting for it; start listening again.',
};

/** Keeps the connection open through proxies that close silent ones. */
export const HEARTBEAT = ':\n\n';
const RECONNECT_MS = 2000;

export interface Listening {
  position: StreamPosition;
  /** Signing secret; null if it was shown before. */
  secret: string | null;
  events: readonly string[];
  resumed: boolean;
}

/** Builds the first frame: the listener, and the secret to verify with. */
export function listeningFrame({ position, secret, events, resumed }: Listening): string {
  const data = { object: 'webhook_listener', id: position.listenerId, signing_secret: secret, events, resumed };
  return `retry: ${RECONNECT_MS}\n${frame('listening', data, writePosition(position))}`;
}

export interface StreamedEvent {
  /** Public id, which is the `svix-id`. */
  id: string;
  type: string;
  /** Exact body that a webhook would get. */
  payload: string;
}

/**
 * Builds the frame of one event as it is delivered to a webhook: its headers, and its body as one string, so that no
 * JSON parser changes a byte.
 */
export function eventFrame(
  position: StreamPosition,
  event: StreamedEvent,
  key: KeyObject,
  timestampSeconds: number,
): string {
  const { id, type, payload } = event;
  const headers = webhookHeaders([key], { id, timestampSeconds, body: payload });
  return frame('event', { object: 'webhook_event', id, type, headers, payload }, writePosition(position));
}

export const closedFrame = (reason: ClosedReason): string => frame('closed', { reason, message: CLOSED[reason] });

/** Formats a frame. One `data` line is enough: serialized JSON has no line breaks. */
function frame(event: string, data: unknown, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
