import { Readable } from 'node:stream';
import { exportContacts as beginExport } from '../../features/audience/contacts/index.ts';
import type { Page } from './page.ts';

const TYPES = { csv: 'text/csv; charset=utf-8', ndjson: 'application/x-ndjson; charset=utf-8' } as const;

/** Answers with a file that is made while it is sent, as fast as the caller reads it. */
export const exportContacts: Page<'exportContacts'> = async (ctx, { query }, { reply }) => {
  const format = query?.format ?? 'csv';
  const { lines, end } = await beginExport(ctx, { format, segmentId: query?.segment_id });
  // Runs however the response ends: read completely, or aborted by the client.
  reply.raw.once('close', end);
  if (reply.raw.destroyed) end();
  reply.headers({
    'content-type': TYPES[format],
    'content-disposition': `attachment; filename="contacts.${format}"`,
    'cache-control': 'private, no-store',
  });
  // RFC 9110 §9.3.2: HEAD answers the headers alone.
  return Readable.from(reply.request.method === 'HEAD' ? [] : lines);
};
