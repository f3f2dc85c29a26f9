import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Resend } from 'resend';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { listOperations, loadContract } from '../../src/contract/index.ts';

const document = loadContract();
const operations = new Map(listOperations(document).map((entry) => [entry.operationId as string, entry]));
const sampled = [...operations.values()].filter(({ operation }) => operation['x-codeSamples'] !== undefined);

interface Call {
  method: string;
  path: string;
  body: unknown;
}

/** The client sends no body for these, whose body is optional. */
const WITHOUT_BODY: ReadonlySet<string> = new Set(['publishTemplate', 'duplicateBroadcast']);

const calls: Call[] = [];
const server = createServer((request, response) => {
  void readText(request).then((text) => {
    calls.push({
      method: request.method ?? '',
      path: (request.url ?? '').split('?')[0] ?? '',
      body: text === '' ? undefined : JSON.parse(text),
    });
    response.setHeader('content-type', 'application/json').end('{"data":[]}');
  });
});

async function readText(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}

beforeAll(async () => {
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  vi.stubEnv('RESEND_BASE_URL', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  vi.stubEnv('RASKET_API_KEY', 'rk_sample');
});
afterAll(() => {
  vi.unstubAllEnvs();
  server.closeAllConnections();
  server.close();
});

it.each(sampled.map(({ operationId }) => operationId as string))(
  'the sample of %s makes the call that its example describes',
  async (operationId) => {
    const entry = operations.get(operationId);
    const sample = entry?.operation['x-codeSamples']?.[0];
    if (!entry || !sample) throw new Error(`${operationId} has no sample`);
    const run = new Function('Resend', `return (async () => { ${withoutImport(sample.source)}; return error; })()`) as (
      client: typeof Resend,
    ) => Promise<unknown>;
    calls.length = 0;
    expect(await run(Resend)).toBeNull();
    const example = (name: string): string =>
      encodeURIComponent(String(entry.parameters.find((parameter) => parameter.name === name)?.example));
    const media = entry.operation.requestBody?.content['application/json'];
    const body = media && (media.example ?? Object.values(media.examples ?? {})[0]?.value);
    expect(calls).toEqual([
      {
        method: entry.method.toUpperCase(),
        path: entry.path.replace(/\{(\w+)\}/g, (_all, name: string) => example(name)),
        body: WITHOUT_BODY.has(operationId) ? undefined : body,
      },
    ]);
  },
);

const withoutImport = (source: string): string => source.replace(/^import .*$/m, '');
