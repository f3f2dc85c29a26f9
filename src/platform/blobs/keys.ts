import { PART } from './copy-blobs.ts';

/** No dot in an owner and none at the start of a name: neither can step out of its folder. */
const OWNER_FORM = /^[a-z0-9_-]{2,}$/i;
const NAME_FORM = /^[a-z0-9_-][a-z0-9_.-]*$/i;

export const isOwner = (text: string): boolean => OWNER_FORM.test(text);

/** Throws for what is no owner. The last characters of a UUIDv7 are random; its first ones would put a whole day into one folder. */
export function shardOf(owner: string): string {
  if (!isOwner(owner)) throw new Error(`the owner of a blob is an id: ${JSON.stringify(owner)}`);
  return owner.slice(-2);
}

/** Throws for what is no key. */
export function partsOfKey(key: string): { owner: string; name: string } {
  const [owner = '', name = '', ...rest] = key.split('/');
  const isKey = NAME_FORM.test(name) && !name.endsWith(PART) && rest.length === 0;
  if (!isKey) throw new Error(`a blob key is <owner id>/<name>: ${JSON.stringify(key)}`);
  return { owner, name };
}
