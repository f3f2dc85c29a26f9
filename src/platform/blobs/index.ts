/**
 * The blob store: content that is too large for a row, as files or as objects of an S3-compatible store. A blob is
 * complete and durable when `put` resolves. Names are our own ids, never a caller's; a key is written once, so that no
 * node caches an old content of it.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Config } from '../config/index.ts';
import { ObjectStoreFault, type Asked } from '../object-store/index.ts';
import type { Blobs } from './blobs.ts';
import { openFileBlobs } from './file-blobs.ts';
import { openObjectBlobs } from './object-blobs.ts';

export {
  type BlobDigest,
  type BlobLink,
  type Blobs,
  type BlobSpool,
  type ByteRange,
  type NewBlob,
  NoSuchBlob,
  copyAllBlobs,
  type CopiedAll,
  createDigester,
  digestOfBytes,
} from './blobs.ts';
export { copyBlobs, toShard, type ScratchFile } from './blob-files.ts';
export { openFileBlobs } from './file-blobs.ts';

export interface BlobsOptions {
  dataDir: string;
  now: () => number;
  random: () => number;
  observe?: (asked: Asked) => void;
}

export const blobsFolder = (dataDir: string): string => path.join(dataDir, 'blobs');

/** Opens the blob store that the settings describe. */
export function openBlobs(settings: Config['blobs'], options: BlobsOptions): Blobs {
  const { dataDir, ...rest } = options;
  if (settings.store === 'files') return openFileBlobs(blobsFolder(dataDir));
  const { endpoint, bucket, region, prefix, access_key: accessKey } = settings;
  return openObjectBlobs({
    ...rest,
    endpoint,
    bucket,
    region,
    accessKey,
    pathStyle: settings.path_style,
    secretKey: readSecret(settings),
    timeoutMs: settings.timeout_seconds * 1000,
    giveUpMs: settings.give_up_seconds * 1000,
    requestsMax: settings.requests_max,
    prefix: prefix === '' ? '' : `${prefix}/`,
    cacheFolder: path.join(dataDir, 'blob-cache'),
    cacheBytes: settings.cache_bytes,
  });
}

function readSecret({ secret_key: secret, secret_key_file: file }: Config['blobs']): string {
  if (secret !== '') return secret;
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    const { message } = error as Error;
    throw new ObjectStoreFault(`blobs.secret_key_file cannot be read: ${message}`, {
      isTransient: false,
      cause: error,
    });
  }
}
