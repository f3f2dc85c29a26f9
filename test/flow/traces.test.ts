import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SPANS_MAX } from '../../src/platform/trace/index.ts';
import { bringMail, createReceivingDomain } from '../rig/mx.ts';
import { startScene, type Scene } from '../rig/scene.ts';
import { mailIn } from './mail.ts';

interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: { key: string; value: { stringValue?: string; intValue?: string } }[];
  status?: { code: number };
}

interface Collector {
  url: string;
  /** The status of the response to each export. */
  status: number;
  requests: { url: string; headers: IncomingHttpHeaders }[];
  spans: Span[];
  resources: string[];
  close(): void;
}

/** Takes OTLP over HTTP in JSON. */
async function openCollector(): Promise<Collector> {
  const server: Server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      collector.requests.push({ url: request.url ?? '', headers: request.headers });
      if (collector.status === 200) take(text);
      response.writeHead(collector.status, { 'content-type': 'application/json' }).end('{}');
    });
  });
  function take(text: string): void {
    const { resourceSpans } = JSON.parse(text) as {
      resourceSpans: { resource: object; scopeSpans: { spans: Span[] }[] }[];
    };
    for (const { resource, scopeSpans } of resourceSpans) {
      collector.resources.push(JSON.stringify(resource));
      collector.spans.push(...scopeSpans.flatMap(({ spans }) => spans));
    }
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const collector: Collector = {
    url,
    status: 200,
    requests: [],
    spans: [],
    resources: [],
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
  return collector;
}

const listAttributes = (span: Span | undefined): Record<string, string> =>
  Object.fromEntries(
    (span?.attributes ?? []).map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? '']),
  );

const toTraceId = (id: string): string => id.replaceAll('-', '');

describe('with a trace collector', () => {
  let collector: Collector;
  let scene: Scene;
  beforeAll(async () => {
    collector = await openCollector();
    scene = await startScene({
      roles: ['http', 'delivery', 'receiving'],
      config: { traces: { endpoint: collector.url, headers_file: 'collector-headers' } },
      sink: { script: (command) => (command.startsWith('RCPT TO:<no@') ? '550 5.1.1 No such user' : undefined) },
    });
    writeFileSync(path.join(scene.dataDir, 'collector-headers'), 'Authorization: Bearer abc:def\n\nx-tenant : mail \n');
  });
  afterAll(async () => {
    await scene.close();
    collector.close();
  });

  /** Moves the clock until the collector has what is looked for. */
  async function spansUntil(isThere: (spans: readonly Span[]) => boolean): Promise<Span[]> {
    while (!isThere(collector.spans)) {
      scene.clock.advance(5000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    return collector.spans;
  }

  it('an email has one trace, with its id, from the accept to the end of each attempt', async () => {
    const mail = await mailIn(scene);
    const id = await mail.send(['a@example.org', 'no@example.net']);
    await scene.settled();
    const own = (spans: readonly Span[]): Span[] => spans.filter(({ traceId }) => traceId === toTraceId(id));
    const spans = own(await spansUntil((all) => own(all).length === 3));
    const [accepted] = spans.filter(({ name }) => name === 'accept');
    expect(listAttributes(accepted)).toMatchObject({ 'rasket.email_id': id, 'rasket.recipients': '2' });
    const tried = spans.filter(({ name }) => name === 'deliver');
    expect(tried.map(({ parentSpanId }) => parentSpanId)).toEqual([accepted?.spanId, accepted?.spanId]);
    expect(tried.map(listAttributes)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ 'rasket.destination': 'example.org', 'rasket.outcome': 'delivered' }),
        expect.objectContaining({ 'rasket.destination': 'example.net', 'rasket.outcome': 'bounced' }),
      ]),
    );
    const faults = tried.filter(({ status }) => status?.code === 2).map(listAttributes);
    expect(faults.map((one) => one['rasket.destination'])).toEqual(['example.net']);
    for (const span of spans) {
      expect(BigInt(span.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(span.startTimeUnixNano));
      expect(span.spanId).toMatch(/^[0-9a-f]{16}$/);
    }
  });

  it('a request belongs to the trace of its caller, unless the caller does not record it', async () => {
    const { key } = await scene.team();
    const parent = { traceId: 'af7651916cd43dd8448eb211c80319c1', spanId: 'b7ad6b7169203331' };
    const get = (traceparent: string): ReturnType<Scene['api']> =>
      scene.api('GET', '/emails?limit=1', { key, headers: { traceparent } });
    await get(`00-${parent.traceId}-${parent.spanId}-00`);
    await get(`00-${'0'.repeat(32)}-${parent.spanId}-01`);
    const last = await get(`00-${parent.traceId}-${parent.spanId}-01`);
    const lists = (all: readonly Span[]): Span[] => all.filter(({ name }) => name === 'GET /emails');
    const spans = lists(await spansUntil((all) => lists(all).some(({ traceId }) => traceId === parent.traceId)));
    const [span, ...others] = spans.filter(({ traceId }) => traceId === parent.traceId);
    expect(others).toEqual([]);
    expect(span).toMatchObject({ parentSpanId: parent.spanId, kind: 2 });
    expect(listAttributes(span)).toEqual({
      'http.request.method': 'GET',
      'http.route': '/emails',
      'http.response.status_code': '200',
      'rasket.operation': 'listEmails',
      'rasket.request_id': last.headers.get('x-request-id'),
    });
    // An invalid traceparent leaves the request a trace of its own: its id.
    const [alone] = spans.filter(({ traceId }) => traceId !== parent.traceId);
    expect(alone?.traceId).toBe(toTraceId(listAttributes(alone)['rasket.request_id'] ?? ''));
    expect(alone?.parentSpanId).toBeUndefined();
  });

  it('received mail is a trace, and no span names a person', async () => {
    const team = await scene.team();
    const { name } = await createReceivingDomain(scene, team);
    const raw = `From: a@example.org\r\nTo: in@${name}\r\nSubject: Secret plans\r\n\r\nHello\r\n`;
    const reply = await bringMail(scene, { to: [`in@${name}`], raw });
    const id = /Stored as (\S+)/.exec(reply)?.[1] ?? '';
    const spans = await spansUntil((all) => all.some(({ traceId }) => traceId === toTraceId(id)));
    const [span] = spans.filter(({ traceId }) => traceId === toTraceId(id));
    expect(listAttributes(span)).toEqual({
      'rasket.received_id': id,
      'rasket.result': 'accepted',
      'rasket.recipients': '1',
    });
    expect(JSON.stringify(spans)).not.toMatch(/@|Secret plans/);
  });

  it('the collector gets the service name, and the headers from the file', () => {
    expect(new Set(collector.requests.map(({ url }) => url))).toEqual(new Set(['/v1/traces']));
    const headers = collector.requests[0]?.headers;
    expect(headers).toMatchObject({ authorization: 'Bearer abc:def', 'x-tenant': 'mail' });
    expect(headers?.['content-type']).toBe('application/json');
    expect(collector.resources[0]).toContain('{"key":"service.name","value":{"stringValue":"rasket"}}');
  });

  it('an outage of the collector drops and counts the latest spans, and the older ones are sent when it is back', async () => {
    const { tracer } = scene.app.world;
    collector.status = 503;
    const before = collector.spans.length;
    const first = scene.app.world.ids.uuid();
    const accepted = (id: string): void => tracer.accepted({ id, teamId: id, recipients: 1 });
    accepted(first);
    const asked = collector.requests.length;
    while (collector.requests.length === asked) {
      scene.clock.advance(5000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    for (let n = 0; n < SPANS_MAX + 10; n++) accepted(scene.app.world.ids.uuid());
    expect(collector.spans.length).toBe(before);
    collector.status = 200;
    const spans = await spansUntil((all) => all.length - before >= SPANS_MAX);
    expect(spans.some(({ traceId }) => traceId === toTraceId(first))).toBe(true);
    const text = await scene.app.world.meter.text();
    expect(Number(/^rasket_trace_spans_dropped_total (\d+)$/m.exec(text)?.[1])).toBeGreaterThanOrEqual(10);
  });

  it('spans that the collector refuses permanently are not sent again', async () => {
    const { tracer } = scene.app.world;
    const refused = scene.app.world.ids.uuid();
    collector.status = 400;
    const asked = collector.requests.length;
    tracer.accepted({ id: refused, teamId: refused, recipients: 1 });
    while (collector.requests.length === asked) {
      scene.clock.advance(5000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    collector.status = 200;
    const kept = scene.app.world.ids.uuid();
    tracer.accepted({ id: kept, teamId: kept, recipients: 1 });
    const spans = await spansUntil((all) => all.some(({ traceId }) => traceId === toTraceId(kept)));
    expect(spans.some(({ traceId }) => traceId === toTraceId(refused))).toBe(false);
  });
});

it('a stop sends the pending spans', async () => {
  const collector = await openCollector();
  const scene = await startScene({ config: { traces: { endpoint: collector.url } } });
  const id = scene.app.world.ids.uuid();
  scene.app.world.tracer.accepted({ id, teamId: id, recipients: 1 });
  await scene.close();
  expect(collector.spans.map(({ traceId }) => traceId)).toContain(toTraceId(id));
  collector.close();
});

it('the configured percentage of traces is kept, each of them whole or not at all', async () => {
  const collector = await openCollector();
  const scene = await startScene({ config: { traces: { endpoint: collector.url, sample_percent: 25 } } });
  const { ids, tracer } = scene.app.world;
  for (let n = 0; n < 1000; n++) {
    const id = ids.uuid();
    tracer.accepted({ id, teamId: id, recipients: 1 });
    const attempt = { id: ids.uuid(), emailId: id, startMs: 0, durationMs: 1, attempt: 1, destination: 'example.org' };
    tracer.delivered({ ...attempt, mx: undefined, outcomes: ['delivered'] });
  }
  await scene.close();
  const counts = new Map<string, number>();
  for (const { traceId, name } of collector.spans)
    if (name === 'accept' || name === 'deliver') counts.set(traceId, (counts.get(traceId) ?? 0) + 1);
  expect(new Set(counts.values())).toEqual(new Set([2]));
  // A quarter of a thousand is expected: a count beyond these bounds comes once in five billion runs.
  expect(counts.size).toBeGreaterThan(163);
  expect(counts.size).toBeLessThan(340);
  collector.close();
});

it('nothing is recorded without a trace collector', async () => {
  const scene = await startScene();
  await (await mailIn(scene)).send(['a@example.org']);
  await scene.settled();
  expect(scene.app.world.tracer.take(1)).toEqual([]);
  await scene.close();
});
