const ASCII_CHARS_MAX = 120;

/**
 * Content-Disposition for an untrusted file name (RFC 6266). A name beyond plain ASCII is given twice, as a similar
 * ASCII name and complete by RFC 8187. Both leave out what could lead out of the reader's folder, hide the file or
 * display the name in another order.
 */
export function attachmentDisposition(filename: string): string {
  const name = harmlessName(filename);
  // The ASCII form may bring back what was removed: a fullwidth slash becomes a slash.
  const ascii = harmlessName(asciiLikeness(name));
  const extended = ascii === name ? '' : `; filename*=UTF-8''${percentEncode(name)}`;
  return `attachment; filename="${ascii}"${extended}`;
}

function harmlessName(filename: string): string {
  const name = filename
    .toWellFormed()
    .replaceAll(UNSAFE, '_')
    // "..", a hidden file, and endings that Windows cuts off.
    .replace(/^[. ]+/, '_')
    .replace(/[. ]+$/, '_');
  return name === '' ? 'attachment' : name.replace(DEVICE, '_$&');
}

/** Control and format characters, path separators, and characters that are special on Windows. ZWJ makes emoji. */
const UNSAFE = /[\p{Cc}\p{Co}\p{Cn}\u2028\u2029\uFFFD"*/:<>?\\|]|(?![\u200c\u200d])\p{Cf}/gu;
const DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d)(?=\.|$)/i;

/** RFC 6266 appendix D: without percent signs, which some clients would decode. */
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

/** RFC 8187 §3.2.1: only attr-char stands for itself; encodeURIComponent leaves a few more. */
const percentEncode = (name: string): string =>
  encodeURIComponent(name).replaceAll(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
