import { expect } from 'vitest';
import { compileValidators, loadContract, type OperationValidators } from '../../src/contract/index.ts';

export interface ApiAnswer<Body = any> {
  status: number;
  // Tests read many shapes; the contract has already said that this is one of them.
  body: Body;
  text: string;
  headers: Headers;
}

export interface ApiCall {
  key?: string;
  /** Sent as JSON; a string or bytes are sent as they are. */
  body?: unknown;
  headers?: Record<string, string>;
}

export type Api = <Body = any>(method: string, path: string, call?: ApiCall) => Promise<ApiAnswer<Body>>;

const validators = await compileValidators(loadContract());
const operations = [...validators.operations.values()].map((operation) => ({
  operation,
  form: new RegExp(`^${operation.path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
}));

/** Calls a running server over its real port and holds every answer against the contract. */
export function createApi(url: string): Api {
  return async (method, path, call = {}) => {
    const isRaw = typeof call.body === 'string' || call.body instanceof Uint8Array;
    const response = await fetch(url + path, {
      method,
      headers: {
        'user-agent': 'rasket-tests/1',
        ...(call.key === undefined ? {} : { authorization: `Bearer ${call.key}` }),
        ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...call.headers,
      },
      body: call.body === undefined ? null : isRaw ? (call.body as string) : JSON.stringify(call.body),
      redirect: 'manual',
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
    const body: unknown = isJson ? JSON.parse(text) : text;
    mustKeepContract(method, path, { status: response.status, body, headers: Object.fromEntries(response.headers) });
    return { status: response.status, body: body as any, text, headers: response.headers };
  };
}

function mustKeepContract(
  method: string,
  path: string,
  answer: { status: number; body: unknown; headers: Record<string, string> },
): void {
  for (const name of ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'x-request-id']) {
    expect(answer.headers, `${method} ${path} answers with ${name}`).toHaveProperty(name);
  }
  const operation = operationAt(method, path);
  // An unknown path or a wrong method belongs to no operation.
  if (!operation) return expect([404, 405, 403]).toContain(answer.status);
  expect(validators.validateResponse(operation.operationId, answer), `${method} ${path} keeps the contract`).toEqual(
    [],
  );
}

export function operationAt(method: string, path: string): OperationValidators | undefined {
  const plain = path.split('?', 1)[0] ?? '';
  return operations.find(({ operation, form }) => operation.method === method.toLowerCase() && form.test(plain))
    ?.operation;
}

export const contractOperations = (): OperationValidators[] => operations.map(({ operation }) => operation);
