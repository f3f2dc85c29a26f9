import type { OpenApiDocument, Schema } from '../../contract/index.ts';
import { readPosition } from '../../features/webhooks/delivery/index.ts';
import { refuse } from '../../platform/refusal/index.ts';
import type { Page } from './page.ts';

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // nginx would buffer frames until its buffer is full.
  'x-accel-buffering': 'no',
};

/** Answers with a stream that stays open until one side ends it. */
export const listenWebhooks: Page<'listenWebhooks'> = async (ctx, { query, header }, { services, reply }) => {
  const lastId = header?.['Last-Event-ID'];
  const events = readTypes(query?.events, services.document);
  reply.headers(HEADERS);
  // RFC 9110 §9.3.2: HEAD answers the headers alone. A stream that is never read would never end.
  if (reply.request.method === 'HEAD') return '';
  const stream = await services.listeners.open(ctx, {
    events,
    position: lastId === undefined ? undefined : readPosition(lastId),
  });
  // If the caller closed the connection while the listener was being opened, no later event ends the stream.
  if (reply.raw.destroyed) stream.destroy();
  return stream;
};

function readTypes(text: string | undefined, document: OpenApiDocument): string[] {
  const known = (document.components.schemas.WebhookEventType as Schema).enum as string[];
  if (text === undefined) return known;
  const types = [...new Set(text.split(',').map((type) => type.trim()))];
  const unknown = types.find((type) => !known.includes(type));
  if (unknown === undefined) return types;
  throw refuse('invalid_parameter', {
    say: `events has ${JSON.stringify(unknown)}, which is no event type; it takes these, separated by commas: ${known.join(', ')}.`,
  });
}
