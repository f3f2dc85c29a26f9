/** What the name of a field says about its value. */
export type KeyKind = 'plain' | 'secret' | 'link' | 'url' | 'attachments';

const ENDS_LIKE_A_SECRET =
  /(?:token|secret|password|passwd|passphrase|privatekey|apikey|authorization|cookie|recoverycodes?|otpauthurl|codeverifier)$/;
const URLS = new Set(['path', 'url', 'endpoint']);

const KEYS_REMEMBERED_MAX = 1000;
const KEY_CHARS_REMEMBERED_MAX = 64;
const remembered = new Map<string, KeyKind>();

/** However it is written: `signing_secret`, `signingSecret` and `Signing-Secret` are one name. */
export function kindOfKey(key: string): KeyKind {
  const known = remembered.get(key);
  if (known !== undefined) return known;
  const kind = classify(key.toLowerCase().replaceAll(/[^a-z0-9]/g, ''));
  // Names are the caller's to choose; there are no more of ours than this.
  if (remembered.size < KEYS_REMEMBERED_MAX && key.length <= KEY_CHARS_REMEMBERED_MAX) remembered.set(key, kind);
  return kind;
}

function classify(name: string): KeyKind {
  if (ENDS_LIKE_A_SECRET.test(name)) return 'secret';
  if (name === 'downloadurl') return 'link';
  if (name === 'attachments') return 'attachments';
  return URLS.has(name) ? 'url' : 'plain';
}
