import { isoTime } from '../../../platform/clock/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { imagePath } from './image-address.ts';
import type { ImageRow } from './images.store.ts';

export const presentImageItem = (store: Store, row: ImageRow) => ({
  id: row.id,
  url: `${store.origin()}${imagePath(row)}`,
  content_type: row.content_type,
  bytes: row.bytes,
  width: row.width,
  height: row.height,
  created_at: isoTime(row.created_at),
});

export const presentImage = (store: Store, row: ImageRow) => ({
  object: 'image' as const,
  ...presentImageItem(store, row),
});
