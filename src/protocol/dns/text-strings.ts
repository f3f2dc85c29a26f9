/** The text of a TXT record that may stand in quoted strings, as in a zone file, or bare, as people type it. */
export function textOfStrings(content: string): string {
  if (!/^\s*"/.test(content)) return content;
  const strings = [...content.matchAll(/"((?:[^"\\]|\\.)*)("|\\?$)/gs)].map(([, string = '', end]) =>
    end === '"' ? string : '',
  );
  const bytes = strings
    .join('')
    .replaceAll(/\\(\d{3}|.)/gs, (_all, escaped: string) =>
      /^\d{3}$/.test(escaped) ? String.fromCharCode(Number(escaped)) : escaped,
    );
  // What is beyond ASCII came as numbers of bytes, or as itself.
  const isBytes = [...bytes].every((char) => char.charCodeAt(0) <= 0xff);
  const text = isBytes ? Buffer.from(bytes, 'latin1').toString('utf8') : bytes;
  return text.includes('\ufffd') ? bytes : text;
}
