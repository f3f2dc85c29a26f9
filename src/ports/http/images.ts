import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { hostNameOf } from '../../features/tracking/index.ts';
import type { World } from '../../platform/world/index.ts';
import { imageOfToken, openImage, tokenInPath, type ImageRow } from '../../features/templates/images/index.ts';
import { createRequestedHost } from './client-address.ts';

const EVERY_ANSWER = {
  'x-content-type-options': 'nosniff',
  // Whatever else its bytes may be read as: opened by itself it runs nothing and loads nothing.
  'content-security-policy': "sandbox; default-src 'none'",
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow',
};
/** Mail is shown on pages of others. */
const SHOWN_ANYWHERE = { 'cross-origin-resource-policy': 'cross-origin' };
/** The bytes behind an address never change. Who has them may show them for a year, also once they are deleted here. */
const FOR_A_YEAR = { 'cache-control': 'public, max-age=31536000, immutable' };
const NOT_KEPT = { 'cache-control': 'no-store', 'content-type': 'text/plain; charset=utf-8' };

/**
 * Answers pictures of mail by their addresses; returns false to leave a request to the API. It runs before the API's hooks,
 * because a reader has no key, and because a proxy that fetches for thousands of readers must not meet the rate limit of one
 * caller. It sets no cookie and asks for none.
 */
export function createImageRoutes(world: World): (request: IncomingMessage, response: ServerResponse) => boolean {
  const requestedHost = createRequestedHost(world.config.http.trusted_proxies);
  return (request, response) => {
    const { url = '', method, headers } = request;
    if (!url.startsWith('/i/') || (method !== 'GET' && method !== 'HEAD')) return false;
    if (headers.host === undefined && request.httpVersion !== '1.0') return false;
    void answer(request, response).catch((error: unknown) => {
      world.log.error({ err: error }, 'an image could not be served');
      if (response.headersSent) response.destroy();
      else say(response, 503, 'This image cannot be shown just now; try again later.\n', method === 'HEAD');
    });
    return true;
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const isHead = request.method === 'HEAD';
    const token = tokenInPath(request.url ?? '');
    const image = token && (await imageOfToken(world, token, hostNameOf(requestedHost(request))));
    if (!image) return sayGone(response, isHead);
    const head = { ...EVERY_ANSWER, ...SHOWN_ANYWHERE, ...FOR_A_YEAR, etag: etagOf(image) };
    if (isKnown(request.headers['if-none-match'], etagOf(image))) return void response.writeHead(304, head).end();
    const whole = { ...head, 'content-type': image.content_type, 'content-length': image.bytes };
    if (isHead) return void response.writeHead(200, whole).end();
    const content = await openImage(world, image);
    if (!content) return sayGone(response, isHead);
    response.writeHead(200, whole);
    await pipeline(content, response).catch((error: NodeJS.ErrnoException) => {
      // The reader has gone.
      if (error.code !== 'ERR_STREAM_PREMATURE_CLOSE' && !response.destroyed) throw error;
    });
  }
}

const etagOf = ({ content_hash: hash }: ImageRow): string => `"${hash.slice(0, 32)}"`;

/** RFC 9110 §13.1.2: the comparison is the weak one. */
const isKnown = (asked: string | undefined, etag: string): boolean =>
  asked !== undefined &&
  (asked.trim() === '*' || asked.split(',').some((one) => one.trim().replace(/^W\//, '') === etag));

const sayGone = (response: ServerResponse, isHead: boolean): void =>
  say(response, 404, 'There is no such image: its address was cut short on its way, or it was deleted.\n', isHead);

function say(response: ServerResponse, status: number, text: string, isHead: boolean): void {
  response.writeHead(status, { ...EVERY_ANSWER, ...NOT_KEPT, 'content-length': Buffer.byteLength(text) });
  response.end(isHead ? undefined : text);
}
