const NAME_BYTES_MAX = 200;

/**
 * A name for a file in this folder, made of the name that a stranger chose: it leads nowhere else, hides nothing, is no
 * option of a command and shows as it is.
 */
export function harmlessName(filename: string): string {
  const name = filename
    .toWellFormed()
    .replaceAll(UNSAFE, '_')
    .replace(/^[-. ]+/, '_')
    .replace(/[. ]+$/, '_');
  return shorten(name === '' ? 'attachment' : name);
}

/** Path separators and what Windows gives a meaning; control and steering characters. ZWJ makes emoji. */
const UNSAFE = /["*/:<>?\\|\p{Cc}\u2028\u2029\uFFFD]|(?![\u200c\u200d])\p{Cf}/gu;

/** Cut to what every file system takes, with its extension, so that it still opens. */
function shorten(name: string): string {
  if (Buffer.byteLength(name) <= NAME_BYTES_MAX) return name;
  const dot = name.lastIndexOf('.');
  const extension = dot > 0 && Buffer.byteLength(name.slice(dot)) <= 16 ? name.slice(dot) : '';
  let kept = '';
  for (const char of name) {
    if (Buffer.byteLength(kept + char + extension) > NAME_BYTES_MAX) break;
    kept += char;
  }
  return kept + extension;
}
