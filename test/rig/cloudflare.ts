import { createServer, type Server } from 'node:https';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { makeCertificate } from './tls.ts';

export interface StubRecord {
  id: string;
  type: string;
  name: string;
  content: string;
  ttl: number;
  proxied: boolean;
  priority?: number;
}

export interface CloudflareStub extends AsyncDisposable {
  host: string;
  apiUrl: string;
  ca: string;
  token: string;
  zones: Map<string, { id: string; records: StubRecord[] }>;
  /** Calls that the real API would not have understood. Must stay empty. */
  violations: string[];
  calls: string[];
  /** Sent instead, in answer to the calls that match. */
  instead: { matches: RegExp; status: number; body: string | (() => Iterable<Buffer>) } | undefined;
  lines(zone: string): string[];
  close(): Promise<void>;
}

/** At most this many on a page, whatever was requested, so that a few records make pages. */
const PER_PAGE = 2;

/** Starts a stub of Cloudflare's DNS API over TLS on loopback. Every call is checked against the documented API. */
export async function startCloudflare(host = 'api.cloudflare.test'): Promise<CloudflareStub> {
  const certificate = makeCertificate({ names: [host] });
  let ids = 0;
  const stub: CloudflareStub = {
    host,
    apiUrl: '',
    ca: certificate.cert,
    token: 'cf-token-0123456789',
    zones: new Map(),
    violations: [],
    calls: [],
    instead: undefined,
    lines: (zone) =>
      (stub.zones.get(zone)?.records ?? [])
        .map(({ name, type, priority, content, ttl }) => `${name} ${ttl} ${type} ${priority ?? ''} ${content}`)
        .sort(),
    close: () => closeServer(server),
    [Symbol.asyncDispose]: () => stub.close(),
  };
  const nextId = (): string => String(++ids).padStart(32, '0');

  const server = createServer({ key: certificate.key, cert: certificate.cert }, (request, response) => {
    void readBody(request).then((body) => {
      const call = `${request.method} ${request.url}`;
      stub.calls.push(call);
      if (stub.instead?.matches.test(call)) {
        const { status, body: text } = stub.instead;
        response.writeHead(status, { 'content-type': 'text/html' });
        if (typeof text === 'string') return void response.end(text);
        response.on('error', () => {});
        for (const chunk of text()) response.write(chunk);
        return void response.end();
      }
      const answer = handle(stub, request, body, nextId);
      response.writeHead(answer.status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(answer.body));
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  stub.apiUrl = `https://${host}:${(server.address() as AddressInfo).port}/client/v4`;
  return stub;
}

interface Reply {
  status: number;
  body: object;
}

function handle(stub: CloudflareStub, request: IncomingMessage, body: string, nextId: () => string): Reply {
  const url = new URL(request.url ?? '', 'https://stub');
  const path = url.pathname.replace(/^\/client\/v4/, '');
  const violate = (what: string): Reply => {
    stub.violations.push(`${request.method} ${path}: ${what}`);
    return failure(400, 9999, what);
  };
  if (!url.pathname.startsWith('/client/v4/')) return violate('is outside of the API');
  if (request.headers['user-agent'] === undefined) return violate('has no User-Agent');
  if (request.headers.authorization !== `Bearer ${stub.token}`) return failure(403, 9109, 'Invalid access token');
  const isWrite = request.method === 'POST';
  if (isWrite !== (request.headers['content-type'] === 'application/json'))
    return violate('has the wrong Content-Type');
  if (!isWrite && body !== '') return violate('has a body');
  if (request.method === 'GET' && path === '/zones') {
    const fault = unknownParameter(url, ['per_page', 'page', 'name']);
    const zones = [...stub.zones].map(([name, { id }]) => ({ id, name, status: 'active' }));
    return fault === undefined ? paged(url, zones) : violate(fault);
  }
  const [, zoneId = '', recordId] = /^\/zones\/([0-9a-f]{32})\/dns_records(?:\/([0-9a-f]{32}))?$/.exec(path) ?? [];
  const zone = [...stub.zones].find(([, { id }]) => id === zoneId);
  if (!zone) return zoneId === '' ? violate('is no path of the API') : failure(404, 7003, 'Could not route');
  const [zoneName, { records }] = zone;
  if (request.method === 'GET' && recordId === undefined) {
    const fault = unknownParameter(url, ['per_page', 'page', 'name.exact', 'type']);
    if (fault !== undefined) return violate(fault);
    const name = url.searchParams.get('name.exact');
    return paged(url, name === null ? records : records.filter((record) => record.name === name));
  }
  if (request.method === 'DELETE' && recordId !== undefined) {
    const at = records.findIndex((record) => record.id === recordId);
    if (at < 0) return failure(404, 81044, 'Record does not exist.');
    records.splice(at, 1);
    return success({ id: recordId });
  }
  if (!isWrite || recordId !== undefined) return violate('is no call of the API');
  const record = readNewRecord(body, zoneName);
  if (typeof record === 'string') return violate(record);
  const here = records.filter((other) => other.name === record.name);
  if (here.some((other) => other.type === record.type && other.content === record.content)) {
    return failure(400, 81058, 'An identical record already exists.');
  }
  if (here.some((other) => (other.type === 'CNAME') !== (record.type === 'CNAME'))) {
    return failure(400, 81053, 'An A, AAAA, or CNAME record with that host already exists.');
  }
  const made = { ...record, id: nextId() };
  records.push(made);
  return success(made);
}

const FIELDS: Record<string, string[]> = {
  TXT: ['content', 'name', 'ttl', 'type'],
  MX: ['content', 'name', 'priority', 'ttl', 'type'],
  CNAME: ['content', 'name', 'proxied', 'ttl', 'type'],
  CAA: ['data', 'name', 'ttl', 'type'],
};

function readNewRecord(body: string, zone: string): Omit<StubRecord, 'id'> | string {
  const given = JSON.parse(body) as Record<string, unknown>;
  const { type, name, content, ttl, priority, data } = given as {
    type: string;
    name: string;
    content: string;
    ttl: number;
    priority: number;
    data: { flags: number; tag: string; value: string };
  };
  const fields = FIELDS[type];
  if (!fields || Object.keys(given).sort().join() !== fields.join()) return `takes ${fields?.join() ?? 'no such type'}`;
  if (!(name === zone || name.endsWith(`.${zone}`))) return `the name ${name} is not in ${zone}`;
  if (!Number.isInteger(ttl) || (ttl !== 1 && (ttl < 60 || ttl > 86_400))) return `the ttl ${ttl} is not possible`;
  if (type === 'MX' && !(Number.isInteger(priority) && priority >= 0 && priority <= 65_535))
    return 'the priority is none';
  if (type === 'TXT' && !/^"(?:[^"\\]|\\.){0,255}"(?: "(?:[^"\\]|\\.){0,255}")*$/.test(content))
    return 'TXT is not quoted';
  if (type === 'CAA' && !(Number.isInteger(data.flags) && data.tag !== '' && data.value !== ''))
    return 'CAA is not whole';
  if (/\.$/.test(content ?? '')) return 'the content ends with a dot';
  const shown = type === 'CAA' ? `${data.flags} ${data.tag} "${data.value}"` : content;
  return { type, name, content: shown, ttl, proxied: false, ...(type === 'MX' ? { priority } : {}) };
}

function unknownParameter(url: URL, known: string[]): string | undefined {
  for (const [name, value] of url.searchParams) {
    if (!known.includes(name)) return `does not know the parameter ${name}`;
    if (name === 'per_page' && !(Number(value) >= 5 && Number(value) <= 5000)) return 'per_page is not possible';
    if (name === 'page' && !(Number(value) >= 1)) return 'page is not possible';
  }
  return undefined;
}

function paged(url: URL, rows: object[]): Reply {
  const page = Number(url.searchParams.get('page') ?? '1');
  const result = rows.slice((page - 1) * PER_PAGE, page * PER_PAGE);
  const info = { page, per_page: PER_PAGE, count: result.length, total_count: rows.length };
  return {
    status: 200,
    body: {
      success: true,
      errors: [],
      messages: [],
      result,
      result_info: { ...info, total_pages: Math.ceil(rows.length / PER_PAGE) },
    },
  };
}

const success = (result: object): Reply => ({ status: 200, body: { success: true, errors: [], messages: [], result } });
const failure = (status: number, code: number, message: string): Reply => ({
  status,
  body: { success: false, errors: [{ code, message }], messages: [], result: null },
});

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise<void>((done) => server.close(() => done()));
}
