import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Fixtures } from './fixtures.ts';
import type { Call, Exchange } from './recording-proxy.ts';

/** One request that a client made. `[[name]]` stands for a fixture, `[[3.data.0.id]]` for a value in the response to request 3. */
export interface RecordedRequest {
  call: string;
  /** The file of the client's source that makes it. */
  file: string | undefined;
  method: string;
  path: string;
  headers: Record<string, string>;
  /** Parsed JSON, or the text of a form. */
  body?: unknown;
  status: number;
  /** Fields of the response that the client reads or that its types promise. */
  reads: string[];
  refused?: string;
}

export interface Recording {
  client: string;
  version: string;
  commit?: string;
  source: string;
  /** The script of this repository that called the client. */
  script: string;
  requests: RecordedRequest[];
}

const FOLDER = path.join(import.meta.dirname, 'recorded');
/** An id as the server writes it: a UUID, or one with a prefix. */
const ID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[a-z]+_[0-9a-f]{32}\b/g;

/** Turns what a proxy kept into requests that can be made again on another server. */
export function makeRequests(
  exchanges: readonly Exchange[],
  calls: readonly Call[],
  fixtures: Fixtures,
): RecordedRequest[] {
  const places = new Map<string, string>();
  const byLength = Object.entries(fixtures).sort(([, one], [, other]) => other.length - one.length);
  for (const [name, value] of byLength) places.set(value, `[[${name}]]`);
  const generalize = (text: string): string => {
    let general = text;
    for (const [name, value] of byLength) {
      general = general.replaceAll(value, `[[${name}]]`).replaceAll(encodeURIComponent(value), `[[${name}]]`);
    }
    return general.replaceAll(ID, (id) => places.get(id) ?? id);
  };
  return exchanges.map((exchange, index) => {
    const call = calls.find((one) => one.exchanges.includes(index));
    const { 'content-type': contentType = '' } = exchange.headers;
    const body = contentType.startsWith('application/json') && exchange.body !== '' ? exchange.body : undefined;
    const recorded: RecordedRequest = {
      call: exchange.call,
      file: call?.file,
      method: exchange.method,
      path: generalize(exchange.path),
      headers: exchange.headers,
      status: exchange.status,
      reads: (call?.reads ?? []).filter((field) => hasField(JSON.parse(exchange.answer), field) !== false),
    };
    if (body !== undefined) {
      // Clients escape text differently; serialized again, the values can be found in it.
      const value: unknown = JSON.parse(Buffer.from(body, 'latin1').toString('utf8'));
      recorded.body = JSON.parse(generalize(JSON.stringify(value)));
    }
    if (body === undefined && exchange.body !== '') recorded.body = generalize(exchange.body);
    if (call?.refused !== undefined) recorded.refused = call.refused;
    notePlaces(places, `${index}`, JSON.parse(exchange.answer));
    return recorded;
  });
}

/** Remembers where each id was first seen, so that later requests can name the place. */
function notePlaces(places: Map<string, string>, place: string, value: unknown): void {
  if (typeof value === 'string') {
    if (value.match(ID)?.[0] === value && !places.has(value)) places.set(value, `[[${place}]]`);
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, inner] of Object.entries(value)) notePlaces(places, `${place}.${name}`, inner);
  }
}

/** Puts the values of this run in place of the names. */
export function fillIn(
  text: string,
  fixtures: Fixtures,
  answers: readonly unknown[],
  escape = (value: string) => value,
): string {
  return text.replaceAll(/\[\[([\w.]+)\]\]/g, (_, name: string) => {
    const [first = '', ...rest] = name.split('.');
    const value = /^\d+$/.test(first) ? readField(answers[Number(first)], rest) : fixtures[name as keyof Fixtures];
    if (typeof value !== 'string') throw new Error(`no response of this run has a value for [[${name}]]`);
    return escape(value);
  });
}

function readField(value: unknown, names: readonly string[]): unknown {
  let found = value;
  for (const name of names) found = (found as Record<string, unknown> | undefined)?.[name];
  return found;
}

/** Returns whether a response has a field; undefined where a list is empty or an object null, so that nothing can be said. */
export function hasField(body: unknown, field: string): boolean | undefined {
  let value = body;
  for (const name of field.split('.')) {
    if (value === null || (Array.isArray(value) && value.length === 0)) return undefined;
    if (typeof value !== 'object' || !(name in (value as object))) return false;
    value = (value as Record<string, unknown>)[name];
  }
  return true;
}

export function readRecording(name: string): Recording {
  return JSON.parse(readFileSync(path.join(FOLDER, `${name}.json`), 'utf8')) as Recording;
}

/** Writes one request per line, so that a new version of a client shows what it does differently. */
export function writeRecording(name: string, { requests, ...about }: Recording): void {
  const head = JSON.stringify(about, null, 2).replace(/\n\}$/, '');
  const lines = requests.map((request) => `    ${JSON.stringify(request)}`);
  writeFileSync(path.join(FOLDER, `${name}.json`), `${head},\n  "requests": [\n${lines.join(',\n')}\n  ]\n}\n`);
}
