import type { Store } from '../../platform/store/index.ts';
import { sizeOfContent } from '../contents/index.ts';
import { HTML_BLOB, TEXT_BLOB } from './email-bodies.ts';
import { storedSizes } from './emails.store.ts';

/**
 * Bytes of each of these emails as they are stored: the message that its client composed, or else its texts and files; of
 * a body that many emails share, without the values of one recipient.
 */
export async function emailSizes(store: Store, emailIds: readonly string[]): Promise<Map<string, number>> {
  const rows = await storedSizes(store.db, emailIds);
  const sizes = rows.map(async (row): Promise<[string, number]> => {
    const long = [...(row.html_in_blob ? [HTML_BLOB] : []), ...(row.text_in_blob ? [TEXT_BLOB] : [])];
    const beside = await Promise.all(long.map((name) => sizeOfContent(store, `${row.email_id}/${name}`)));
    return [row.email_id, beside.reduce((sum, bytes) => sum + bytes, row.bytes)];
  });
  return new Map(await Promise.all(sizes));
}
