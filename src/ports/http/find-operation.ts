import type { FastifyRequest } from 'fastify';
import type { IncomingMessage } from 'node:http';
import { findNearest, type OperationValidators } from '../../contract/index.ts';

/** The operation and parameters of a request's path. */
interface Target {
  /** Undefined when the path does not support the method. */
  operation: OperationValidators | undefined;
  /** The decoded value of each path parameter. */
  params: Record<string, string>;
  /** The methods that the path supports. HEAD is supported wherever GET is. */
  methods: readonly string[];
}

export type FindTarget = (method: string, target: string) => Target | undefined;

interface KnownPath {
  segments: readonly string[];
  methods: string[];
  operations: Map<string, OperationValidators>;
}

/** A node of the tree of paths, with its branches: by a literal segment, or by a parameter. */
interface Fork {
  words: Map<string, Fork>;
  parameter?: Fork;
  path?: KnownPath;
}

const isParameter = (segment: string): boolean => segment.startsWith('{');

/**
 * Finds the operation of a request. Adding one route for each operation would take longer than all other steps of a
 * start.
 */
export function createFindTarget(operations: Iterable<OperationValidators>): FindTarget {
  const root: Fork = { words: new Map() };
  for (const operation of operations) add(root, operation);
  return (method, target) => {
    const segments = splitSegments(target);
    const fitting = segments ? pathsAt(root, segments, 0) : [];
    const [first] = fitting;
    if (!segments || !first) return undefined;
    const asked = method === 'HEAD' ? 'GET' : method;
    // A word goes before a parameter, whatever the method: /emails/batch is never an email with the id "batch".
    const path = fitting.find((one) => one.operations.has(asked) && (one === first || !covers(one, first))) ?? first;
    return { operation: path.operations.get(asked), params: readParams(path, segments), methods: path.methods };
  };
}

function add(root: Fork, operation: OperationValidators): void {
  const segments = operation.path.split('/').slice(1);
  let at = root;
  for (const segment of segments) {
    const next = isParameter(segment) ? at.parameter : at.words.get(segment);
    const fork: Fork = next ?? { words: new Map() };
    if (isParameter(segment)) at.parameter = fork;
    else at.words.set(segment, fork);
    at = fork;
  }
  const path: KnownPath = (at.path ??= { segments, methods: [], operations: new Map() });
  const method = operation.method.toUpperCase();
  path.operations.set(method, operation);
  path.methods.push(...(method === 'GET' ? ['GET', 'HEAD'] : [method]));
}

/** The segments of the path, decoded; undefined for a target that has none. */
function splitSegments(target: string): string[] | undefined {
  // RFC 9112 §3.2.2: a server takes the absolute form, too.
  const own = target.startsWith('/') ? target : URL.parse(target)?.pathname;
  const path = own?.split(/[?#]/, 1)[0];
  if (!path?.startsWith('/')) return undefined;
  const segments = path.slice(1).split('/');
  return path.includes('%') ? segments.map(decodeURIComponent) : segments;
}

/** All that fit, those with words first. */
function pathsAt(fork: Fork, segments: readonly string[], depth: number): KnownPath[] {
  const segment = segments[depth];
  if (segment === undefined) return fork.path ? [fork.path] : [];
  const word = fork.words.get(segment);
  return [
    ...(word ? pathsAt(word, segments, depth + 1) : []),
    ...(fork.parameter && segment !== '' ? pathsAt(fork.parameter, segments, depth + 1) : []),
  ];
}

/** Reports whether `wide` matches every path that `narrow` matches. */
const covers = (wide: KnownPath, narrow: KnownPath): boolean =>
  wide.segments.every((segment, at) => isParameter(segment) || segment === narrow.segments[at]);

const readParams = (path: KnownPath, segments: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    path.segments.flatMap((segment, at) => (isParameter(segment) ? [[segment.slice(1, -1), segments[at] ?? '']] : [])),
  );

const targets = new WeakMap<IncomingMessage, Target>();

/** The path of every route of operations; the operation is found here. */
export const EVERY_PATH = '/*';

/** Returns the target of a routed request; undefined for a path that the contract does not define. */
export const findRequestTarget = (request: FastifyRequest): Target | undefined => targets.get(request.raw);

/** Finds the target of a request once and remembers it. */
export function findFor(request: IncomingMessage, find: FindTarget): Target | undefined {
  const target = find(request.method ?? '', request.url ?? '');
  if (target) targets.set(request, target);
  return target;
}

const pages = new WeakMap<IncomingMessage, string>();

/** Notes that the request is for the page at this path. */
export const notePage = (request: FastifyRequest, path: string): void => void pages.set(request.raw, path);

/** Returns the name of a request's route in logs, metrics and spans. */
export function nameRoute(request: FastifyRequest): { url: string | undefined; operation?: string } {
  const { url } = request.routeOptions;
  const operation = url === EVERY_PATH ? findRequestTarget(request)?.operation : undefined;
  if (!operation) return { url: pages.get(request.raw) ?? url };
  return { url: operation.path.replaceAll(/\{(\w+)\}/g, ':$1'), operation: operation.operationId };
}

const ESCAPES = /(?:%[0-9a-f]{2})+/gi;
const STRAY_PERCENT = /%(?![0-9a-f]{2})/gi;
const REPLACEMENT = '%EF%BF%BD';

// The second server of the contract: all paths exist below it too, for clients that know only that base.
const DEPLOYMENT_BASE = '/api/v1';

/**
 * Returns the path as the contract writes it, whichever of the two servers the caller uses. Pages for people exist at
 * one address only. Slashes at the beginning count as one: clients append `/emails` to a base address that ends with a
 * slash.
 */
export function contractTarget(target: string, isPage: (target: string) => boolean = () => false): string {
  const single = target.startsWith('//') ? target.replace(/^\/+/, '/') : target;
  return contractPath(single, isPage);
}

function contractPath(target: string, isPage: (target: string) => boolean): string {
  const below = target.startsWith(`${DEPLOYMENT_BASE}/`) ? target.slice(DEPLOYMENT_BASE.length) : undefined;
  return withProbe(withClaim(withSegments(decodableTarget(below === undefined || isPage(below) ? target : below))));
}

/** Reads `/domains/claims` and `/domains/{id}/claims`, as the client of PHP writes them, in the singular. */
function withClaim(target: string): string {
  return target.startsWith('/domains/')
    ? target.replace(/^(\/domains(?:\/[^/?#]+)?\/claim)s(?=(?:\/verify)?(?:[?#]|$))/, '$1')
    : target;
}

/**
 * Reads `/audiences` and `/audiences/{id}`, the former names, as `/segments`; paths below an audience have routes of
 * their own.
 */
function withSegments(target: string): string {
  return target.startsWith('/audiences')
    ? target.replace(/^\/audiences(?=(?:\/[^/?#]+)?(?:[?#]|$))/, '/segments')
    : target;
}

/** The names by which Kubernetes and load balancers probe, each with its route. */
const PROBES: Readonly<Record<string, string>> = { healthz: '/health', livez: '/health', readyz: '/ready' };

/** Reads the names of probes as the routes of liveness and readiness. */
const withProbe = (target: string): string =>
  target.replace(/^\/(healthz|livez|readyz)(?=$|\?)/, (_, name: string) => PROBES[name] ?? target);

/**
 * Makes every path decodable, so that a broken escape is reported as a fault of its parameter, when that is checked: a
 * percent sign without an escape is literal, and escapes that are not UTF-8 become U+FFFD.
 */
function decodableTarget(target: string): string {
  if (!target.includes('%')) return target;
  const end = target.indexOf('?');
  const path = end < 0 ? target : target.slice(0, end);
  return path.replace(STRAY_PERCENT, '%25').replace(ESCAPES, utf8OrReplacement) + target.slice(path.length);
}

function utf8OrReplacement(escapes: string): string {
  try {
    decodeURIComponent(escapes);
    return escapes;
  } catch {
    return REPLACEMENT;
  }
}

/** A parameter that is given twice becomes a list, which no parameter of ours is: the contract's check reports it. */
export function parseQuery(text: string): Record<string, unknown> {
  const query: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const [name, value] of new URLSearchParams(text)) {
    const before = query[name];
    query[name] =
      before === undefined ? value : Array.isArray(before) ? [...(before as unknown[]), value] : [before, value];
  }
  return query;
}

/** Words that people write instead of the name of a resource of the API. */
const OTHER_WORDS: Readonly<Record<string, string>> = {
  send: 'emails',
  mail: 'emails',
  message: 'emails',
  messages: 'emails',
  keys: 'api-keys',
  apikeys: 'api-keys',
  campaigns: 'broadcasts',
};

const PATH_CHARS_MAX = 200;

/** Returns a function that suggests the route that was meant by an unknown path: ` Did you mean POST /emails?`, or nothing. */
export function createRouteSuggestion(
  operations: Iterable<OperationValidators>,
  find: FindTarget,
): (method: string, url: string) => string {
  const families = [...new Set([...operations].map(({ path }) => path.split('/')[1] ?? ''))];
  return (method, url) => {
    const path = url.split(/[?#]/, 1)[0] ?? '';
    if (path.length > PATH_CHARS_MAX || path.includes('%')) return '';
    // The id of such a path is most often a variable that was empty.
    if (/[^/]\/\/+[^/]/.test(path)) return ' The path has an empty segment; is an id missing?';
    const [first = '', ...others] = path
      .toLowerCase()
      .replace(/^\/(?:api\/)?v\d+(?=\/)/, '')
      .split('/')
      .filter((segment) => segment !== '' && segment !== '.' && segment !== '..');
    if (first === '') return '';
    const family = OTHER_WORDS[first] ?? (families.includes(first) ? first : findNearest(first, families));
    if (family === undefined) return '';
    const meant = `/${[family, ...others].join('/')}`;
    const target = find(method, meant);
    // A suggestion that repeats the request would not help.
    if (target === undefined || meant === path) return '';
    return ` Did you mean ${target.operation ? `${method} ` : ''}${meant}?`;
  };
}
