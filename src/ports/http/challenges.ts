import type { IncomingMessage, ServerResponse } from 'node:http';
import { answerToToken } from '../../features/operations/certificate-renewal/index.ts';
import type { World } from '../../platform/world/index.ts';
import { isToken } from '../../protocol/acme/index.ts';

const FOLDER = '/.well-known/acme-challenge/';

/**
 * Answers the authority that proves our names (RFC 8555 §8.3), on every port: a proxy in front passes it on. Nothing but a
 * token of an order that waits is answered, so that no path leads anywhere.
 */
export function createChallengeRoute(world: World): (request: IncomingMessage, response: ServerResponse) => boolean {
  return ({ url = '', method }, response) => {
    if (!url.startsWith(FOLDER)) return false;
    const token = url.slice(FOLDER.length);
    const answer = (status: number, text: string): void => {
      const type = status === 200 ? 'application/octet-stream' : 'text/plain; charset=utf-8';
      const headers = { 'content-type': type, 'content-length': Buffer.byteLength(text) };
      response.writeHead(status, { ...headers, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
      response.end(method === 'HEAD' ? undefined : text);
    };
    if ((method !== 'GET' && method !== 'HEAD') || !isToken(token)) answer(404, 'No order waits for this.\n');
    else {
      answerToToken(world, token).then(
        (found) => (found === undefined ? answer(404, 'No order waits for this.\n') : answer(200, found)),
        (error: unknown) => {
          world.log.error({ err: error }, 'could not answer a challenge');
          answer(503, 'Not just now.\n');
        },
      );
    }
    return true;
  };
}
