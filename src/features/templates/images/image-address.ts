import type { ImageType } from '../../../protocol/image-head/index.ts';
import type { ImageRow } from './images.store.ts';

const ENDINGS: Record<ImageType, string> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
};

/** The same for as long as the picture is there, on every host of ours. */
export const imagePath = ({ token, content_type: type }: Pick<ImageRow, 'token' | 'content_type'>): string =>
  `/i/${token}.${ENDINGS[type]}`;

/** 192 random bits, as `newToken` makes them. */
const PATH = /\/i\/([A-Za-z0-9_-]{32})\.(?:png|jpg|gif|webp)(?![A-Za-z0-9_-])/;
const PATHS = new RegExp(PATH, 'g');

/** The token in the path of an address of a picture; undefined where it is none. */
export const tokenInPath = (path: string): string | undefined =>
  new RegExp(`^${PATH.source}(?:\\?.*)?$`).exec(path)?.[1];

/** The tokens that stand in a text, each once; whether they are ours, the database says. */
export const tokensIn = (text: string): Set<string> =>
  new Set([...text.matchAll(PATHS)].map(([, token]) => token ?? ''));

/** The addresses of pictures under an origin that stand in a text, each once. */
export const addressesIn = (text: string, origin: string): string[] => {
  const found = [...text.matchAll(PATHS)].filter(({ index }) => text.startsWith(origin, index - origin.length));
  return [...new Set(found.map(([path]) => `${origin}${path}`))];
};
