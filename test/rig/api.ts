import http from 'node:http';
import { expect } from 'vitest';
import { compileValidators, loadContract, type OperationValidators } from '../../src/contract/index.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- tests read many shapes; the contract has checked this one.
export type AnyBody = any;

export interface ApiAnswer<Body = AnyBody> {
  status: number;
  body: Body;
  text: string;
  headers: Headers;
}

export interface ApiCall {
  key?: string | undefined;
  /** Sent as JSON; a string or bytes are sent as they are. */
  body?: unknown;
  /** Added to the usual headers; null removes one of those. */
  headers?: Record<string, string | null>;
}

export type Api = <Body = AnyBody>(method: string, path: string, call?: ApiCall) => Promise<ApiAnswer<Body>>;

const validators = await compileValidators(loadContract());
const operations = [...validators.operations.values()].map((operation) => ({
  operation,
  form: new RegExp(`^${operation.path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
}));

/** Calls a running server over its real port and checks every answer against the contract. */
export function createApi(url: string): Api {
  const agent = new http.Agent({ keepAlive: true });
  return async (method, path, call = {}) => {
    const answer = await exchange(agent, url, method, path, call);
    const isJson = answer.headers.get('content-type')?.startsWith('application/json') ?? false;
    const body: unknown = isJson && answer.text !== '' ? JSON.parse(answer.text) : answer.text;
    mustKeepContract(method, path, {
      status: answer.status,
      body,
      headers: Object.fromEntries(answer.headers),
    });
    return { ...answer, body: body as AnyBody };
  };
}

/** Uses plain HTTP rather than fetch, which would add headers and change the path. */
function exchange(
  agent: http.Agent,
  url: string,
  method: string,
  path: string,
  call: ApiCall,
): Promise<{ status: number; text: string; headers: Headers }> {
  const { hostname, port } = new URL(url);
  const bytes = encodeBody(call.body);
  const usual: Record<string, string | null> = {
    'user-agent': 'rasket-tests/1',
    ...(call.key === undefined ? {} : { authorization: `Bearer ${call.key}` }),
    ...(bytes === undefined ? {} : { 'content-type': 'application/json', 'content-length': String(bytes.length) }),
    ...call.headers,
  };
  const headers = Object.fromEntries(Object.entries(usual).filter(([, value]) => value !== null)) as Record<
    string,
    string
  >;
  return new Promise((resolve, reject) => {
    const request = http.request({ agent, hostname, port, method, path, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        resolve({ status: response.statusCode ?? 0, text, headers: toHeaders(response) });
      });
    });
    request.on('error', reject);
    request.end(bytes);
  });
}

function encodeBody(body: unknown): Uint8Array | undefined {
  if (body === undefined) return undefined;
  if (body instanceof Uint8Array) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

function toHeaders(response: http.IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, values] of Object.entries(response.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  return headers;
}

export const EVERY_ANSWER_HAS = ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'x-request-id'];

function mustKeepContract(
  method: string,
  path: string,
  answer: { status: number; body: unknown; headers: Record<string, string> },
): void {
  // This runs for each of a hundred thousand answers: an assertion costs more than the question.
  const missing = EVERY_ANSWER_HAS.filter((name) => !(name in answer.headers));
  if (missing.length > 0) expect(answer.headers, `${method} ${path}`).toHaveProperty(missing[0] ?? '');
  // HEAD is GET without the body, so only the status and the headers above can be checked.
  if (method === 'HEAD') return expect(answer.body).toBe('');
  const operation = operationAt(method, path);
  // An unknown path or a wrong method belongs to no operation.
  if (!operation) return expect([404, 405, 403]).toContain(answer.status);
  const faults = validators.validateResponse(operation.operationId, answer);
  expect(faults, `${method} ${path} keeps the contract`).toEqual([]);
}

/** Returns a key of paths of one length that begin with the same word; none begins with a parameter. */
const toPlace = (path: string): string => `${path.split('/', 2)[1]} ${path.split('/').length}`;
const nearby = Map.groupBy(operations, ({ operation }) => toPlace(operation.path));

/**
 * Finds the operation; a word goes before a parameter: /emails/metrics is not an email, and
 * /inboxes/{inbox}/threads/search not a thread.
 */
export function operationAt(method: string, path: string): OperationValidators | undefined {
  // Slashes at the beginning count as one, and a former name leads to the present one.
  const plain = (path.split('?', 1)[0] ?? '')
    .replace(/^\/+/, '/')
    .replace(/^\/audiences(?=(?:\/[^/]+)?$)/, '/segments')
    .replace(/^(\/domains(?:\/[^/]+)?\/claim)s(?=(?:\/verify)?$)/, '$1');
  const parametersIn = ({ operation }: (typeof operations)[number]): number => operation.path.split('{').length;
  const near = nearby.get(toPlace(plain)) ?? [];
  const fitting = near.filter(({ operation, form }) => operation.path === plain || form.test(plain));
  const fewest = Math.min(...fitting.map(parametersIn));
  const candidates = fitting.filter((one) => parametersIn(one) === fewest);
  return candidates.find(({ operation }) => operation.method === method.toLowerCase())?.operation;
}

export const contractOperations = (): OperationValidators[] => operations.map(({ operation }) => operation);
