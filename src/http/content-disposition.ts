const ASCII_CHARS_MAX = 120;

/**
 * Content-Disposition of a file under a name that a stranger chose (RFC 6266): a name that is more than plain ASCII stands
 * in it twice, as its ASCII likeness and whole by RFC 8187. What could lead out of the reader's folder, hide the file or
 * show its name in another order than it has is no part of either.
 */
export function attachmentDisposition(filename: string): string {
  const name = harmlessName(filename);
  // A likeness may bring back what its original had no more: a fullwidth slash becomes a slash.
  const ascii = harmlessName(asciiLikeness(name));
  const extended = ascii === name ? '' : `; filename*=UTF-8''${percentEncode(name)}`;
  return `attachment; filename="${ascii}"${extended}`;
}

function harmlessName(filename: string): string {
  const name = filename
    .toWellFormed()
    .replaceAll(UNSAFE, '_')
    // "..", a hidden file, and what Windows cuts off at the end.
    .replace(/^[. ]+/, '_')
    .replace(/[. ]+$/, '_');
  return name === '' ? 'attachment' : name.replace(DEVICE, '_$&');
}

/** Control and steering characters, path separators, and what stands for something else on Windows. ZWJ makes emoji. */
const UNSAFE = /[\p{Cc}\p{Co}\p{Cn}\u2028\u2029\uFFFD"*/:<>?\\|]|(?![\u200c\u200d])\p{Cf}/gu;
const DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d)(?=\.|$)/i;

/** RFC 6266 appendix D: no percent sign, which some readers would decode. */
function asciiLikeness(name: string): string {
  const ascii = name
    .normalize('NFKD')
    .replaceAll(/\p{M}+/gu, '')
    .replaceAll(/[^\x20-\x7e]|["\\/%]/gu, '_');
  if (ascii.length <= ASCII_CHARS_MAX) return ascii === '' ? 'attachment' : ascii;
  const dot = ascii.lastIndexOf('.');
  const extension = dot > 0 && ascii.length - dot <= 12 ? ascii.slice(dot) : '';
  return ascii.slice(0, ASCII_CHARS_MAX - extension.length) + extension;
}

/** RFC 8187 §3.2.1: attr-char stands for itself, which encodeURIComponent allows a little too much of. */
const percentEncode = (name: string): string =>
  encodeURIComponent(name).replaceAll(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
