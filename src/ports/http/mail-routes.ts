import type { IncomingMessage, ServerResponse } from 'node:http';
import { readClick, createLinkHosts, readOpening, toHostName, type Tracking } from '../../features/tracking/index.ts';
import { findServedPolicy } from '../../mail/domains/index.ts';
import type { World } from '../../platform/world.ts';
import { isMachineFetch } from '../../protocol/machine-opens.ts';
import type { TrackedMail } from '../../protocol/track-links/index.ts';
import { createClientAddress, createRequestedHost } from './client-address.ts';
import { pipeline } from 'node:stream/promises';
import { imageOfToken, openImage, tokenInPath, type ImageRow } from '../../features/templates/index.ts';

/** The smallest possible image, one transparent dot. */
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==', 'base64');
const NOT_FOUND = Buffer.from('This link does not work. It may be incomplete, or it may have been disabled.\n');

/** Headers of every response. A cached response would hide the next reader of the same mail. */
const EVERY_ANSWER = [
  'cache-control',
  'no-store',
  'referrer-policy',
  'no-referrer',
  'x-robots-tag',
  'noindex, nofollow',
];
const NOSNIFF = ['x-content-type-options', 'nosniff'];
const PIXEL_HEADERS = [
  ...EVERY_ANSWER,
  ...NOSNIFF,
  'content-type',
  'image/gif',
  'content-length',
  String(PIXEL.length),
];
const NOT_FOUND_HEADERS = [
  ...EVERY_ANSWER,
  ...NOSNIFF,
  'content-type',
  'text/plain; charset=utf-8',
  'content-length',
  String(NOT_FOUND.length),
];

/** Matches any text in place of the token: most are invalid, and all of those get the same response. */
const FORM = /^\/([co])\/([^?]*?)(\.gif)?(?:\?|$)/;

/**
 * Serves the pixels and links of tracked mail, each on the tracking host of its domain; returns false to leave a
 * request to the API. It runs before the API's hooks, because a reader has no key, and because a proxy that fetches for
 * thousands of readers must not meet the rate limit of one caller. Forged tokens are not limited: checking one costs
 * less than counting it, and 96 bits are not guessed.
 */
export function createTrackingRoutes(
  world: World,
  tracking: Tracking,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  const clientAddress = createClientAddress(world.config.http.trusted_proxies);
  const requestedHost = createRequestedHost(world.config.http.trusted_proxies);
  const hosts = createLinkHosts(world);
  return (request, response) => {
    const { url = '', method } = request;
    // Other requests are passed on after a check of one character.
    if (url.charAt(2) !== '/' || (method !== 'GET' && method !== 'HEAD')) return false;
    const [, kind, token = '', suffix] = FORM.exec(url) ?? [];
    if (kind === undefined || (request.headers.host === undefined && request.httpVersion !== '1.0')) return false;
    const answer = (status: number, headers: string[], body?: Buffer): void => {
      response.writeHead(status, headers).end(method === 'HEAD' ? undefined : body);
    };
    const answerNotFound = (): void => answer(404, NOT_FOUND_HEADERS, NOT_FOUND);
    /** Responds only after the open or click is recorded. */
    const note = (what: { emailId: string; link?: string }, answerNow: () => void): void => {
      const reader = { ipAddress: clientAddress(request), userAgent: request.headers['user-agent'] ?? '' };
      const machine = isMachineFetch({ method, headers: request.headers }) ? { machine: true as const } : {};
      tracking.note({ ...what, ...reader, ...machine }, answerNow);
    };
    const whereItWorks = (mail: TrackedMail, go: () => void): true => {
      const works = hosts.works(mail, requestedHost(request));
      if (works === true) go();
      else if (works === false) answerNotFound();
      else void works.then((doesIt) => (doesIt ? go() : answerNotFound()));
      return true;
    };
    const opened = kind === 'o' && suffix ? readOpening(world, token) : undefined;
    if (opened) {
      return whereItWorks(opened, () => note({ emailId: opened.emailId }, () => answer(200, PIXEL_HEADERS, PIXEL)));
    }
    const click = kind === 'c' && !suffix ? readClick(world, token) : undefined;
    if (!click) {
      answerNotFound();
      return true;
    }
    return whereItWorks(click, () => {
      // Normalized as a browser does it: ASCII, without anything that a header cannot hold.
      const headers = [...EVERY_ANSWER, 'location', new URL(click.target).href, 'content-length', '0'];
      note({ emailId: click.emailId, link: click.target }, () => answer(302, headers));
    });
  };
}

const POLICY_PATH = /^\/\.well-known\/mta-sts\.txt(?:\?|$)/;

/**
 * Serves the MTA-STS policies of domains that receive here, each at the policy host of its domain (RFC 8461 §3.3);
 * returns false to leave a request to the API. The servers that ask have no key.
 */
export function createPolicyRoute(world: World): (request: IncomingMessage, response: ServerResponse) => boolean {
  const requestedHost = createRequestedHost(world.config.http.trusted_proxies);
  return (request, response) => {
    const { url = '', method, headers } = request;
    if (!POLICY_PATH.test(url) || (headers.host === undefined && request.httpVersion !== '1.0')) return false;
    const answer = (status: number, text: string, more: object = {}): void => {
      const head = { ...POLICY_HEADERS, 'content-length': Buffer.byteLength(text), ...more };
      response.writeHead(status, head).end(method === 'HEAD' ? undefined : text);
    };
    if (method !== 'GET' && method !== 'HEAD') {
      answer(405, 'A policy can only be read.\n', { allow: 'GET, HEAD' });
      return true;
    }
    findServedPolicy(world, toHostName(requestedHost(request))).then(
      (policy) =>
        policy === undefined ? answer(404, 'No MTA-STS policy is served at this host.\n') : answer(200, policy),
      (error: unknown) => {
        world.log.error({ err: error }, 'an MTA-STS policy could not be read');
        answer(503, 'Try again later.\n');
      },
    );
    return true;
  };
}

/** A policy counts for as long as it says, and the record in DNS announces the next one. */
const POLICY_HEADERS = {
  'content-type': 'text/plain; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex, nofollow',
};

const EVERY_IMAGE = {
  'x-content-type-options': 'nosniff',
  // An image that is opened by itself runs and loads nothing, whatever else its bytes may be parsed as.
  'content-security-policy': "sandbox; default-src 'none'",
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow',
};
/** Allows images on other sites, because webmail shows them there. */
const SHOWN_ANYWHERE = { 'cross-origin-resource-policy': 'cross-origin' };
/**
 * Lets clients keep an image for a year, even after it is deleted here, because the bytes at an address never change.
 */
const FOR_A_YEAR = { 'cache-control': 'public, max-age=31536000, immutable' };
const NOT_KEPT = { 'cache-control': 'no-store', 'content-type': 'text/plain; charset=utf-8' };

/**
 * Serves pictures of mail by their addresses; returns false to leave a request to the API. It runs before the API's
 * hooks, because a reader has no key, and because a proxy that fetches for thousands of readers must not meet the rate
 * limit of one caller. It neither sets nor reads cookies.
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
      else respond(response, 503, 'This image cannot be shown right now. Try again later.\n', method === 'HEAD');
    });
    return true;
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const isHead = request.method === 'HEAD';
    const token = tokenInPath(request.url ?? '');
    const image = token && (await imageOfToken(world, token, toHostName(requestedHost(request))));
    if (!image) return respondGone(response, isHead);
    const head = { ...EVERY_IMAGE, ...SHOWN_ANYWHERE, ...FOR_A_YEAR, etag: formatEtag(image) };
    if (isKnown(request.headers['if-none-match'], formatEtag(image))) return void response.writeHead(304, head).end();
    const whole = { ...head, 'content-type': image.content_type, 'content-length': image.bytes };
    if (isHead) return void response.writeHead(200, whole).end();
    const content = await openImage(world, image);
    if (!content) return respondGone(response, isHead);
    response.writeHead(200, whole);
    await pipeline(content, response).catch((error: NodeJS.ErrnoException) => {
      // The reader has gone.
      if (error.code !== 'ERR_STREAM_PREMATURE_CLOSE' && !response.destroyed) throw error;
    });
  }
}

const formatEtag = ({ content_hash: hash }: ImageRow): string => `"${hash.slice(0, 32)}"`;

/** Reports whether the client has the image already. The comparison is the weak one (RFC 9110 §13.1.2). */
const isKnown = (asked: string | undefined, etag: string): boolean =>
  asked !== undefined &&
  (asked.trim() === '*' || asked.split(',').some((one) => one.trim().replace(/^W\//, '') === etag));

const respondGone = (response: ServerResponse, isHead: boolean): void =>
  respond(response, 404, 'Image not found. Its address may be incomplete, or it was deleted.\n', isHead);

function respond(response: ServerResponse, status: number, text: string, isHead: boolean): void {
  response.writeHead(status, { ...EVERY_IMAGE, ...NOT_KEPT, 'content-length': Buffer.byteLength(text) });
  response.end(isHead ? undefined : text);
}
