import type { IncomingMessage } from 'node:http';

/** Limit of a form. Our largest form has two ids for each of two hundred topics. */
const FORM_BYTES_MAX = 64 * 1024;

/** Reads a form in either encoding of browsers and mail programs; undefined if it is too large or broken off. */
export async function readForm(request: IncomingMessage): Promise<URLSearchParams | undefined> {
  const body = await readBody(request);
  if (!body) return undefined;
  const type = request.headers['content-type'] ?? '';
  const boundary = /^multipart\/form-data\s*;.*?boundary=(?:"([^"]{1,70})"|([^\s;]{1,70}))/i.exec(type);
  const text = body.toString('utf8');
  return boundary ? parseMultipart(text, boundary[1] ?? boundary[2] ?? '') : new URLSearchParams(text);
}

/** Reads a body; undefined if it is too large or broken off. Bytes beyond the limit are dropped, so that the sender reads the response. */
function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= FORM_BYTES_MAX) chunks.push(chunk);
      else resolve(undefined);
    });
    request.on('end', () => resolve(length <= FORM_BYTES_MAX ? Buffer.concat(chunks) : undefined));
    request.on('close', () => resolve(undefined));
    request.on('error', () => resolve(undefined));
  });
}

/** Reads the fields of a multipart form (RFC 7578), as far as short fields need it. */
function parseMultipart(text: string, boundary: string): URLSearchParams {
  const fields = new URLSearchParams();
  for (const part of text.split(`--${boundary}`).slice(1)) {
    const end = /\r?\n\r?\n/.exec(part);
    const name = end && /\bname="?([^"\r\n;]{1,100})"?/i.exec(part.slice(0, end.index))?.[1];
    if (name) fields.append(name, part.slice(end.index + end[0].length).replace(/\r?\n$/, ''));
  }
  return fields;
}
