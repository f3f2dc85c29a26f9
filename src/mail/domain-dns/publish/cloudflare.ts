import type { ApiCall, ApiRequest, ApiAnswer } from '../../../platform/api-call.ts';
import { toRecordData, recordValue, sameNames, textOfStrings } from '../../../protocol/dns/index.ts';
import { ProviderFault, zoneAmong, type DnsProvider, type NewRecord, type ZoneRecord } from './provider.ts';

interface Envelope {
  success: boolean;
  result: unknown;
  errors: { code: number; message: string }[];
  pages: number;
}

/** Reads the envelope of a response. Throws a fault if there is none, and quotes nothing of it at length. */
function readEnvelope(provider: string, what: string, answer: ApiAnswer, isWrite: boolean): Envelope {
  const unknownFate = { nothingChanged: !isWrite };
  if (answer.kind === 'failed') {
    const say = `The DNS provider ${provider} could not be reached to ${what}: ${answer.say}.`;
    throw new ProviderFault('unavailable', say, { ...unknownFate, because: answer.because });
  }
  const envelope = parseEnvelope(answer.body);
  if (envelope?.success && answer.status < 300) return envelope;
  const { status } = answer;
  if (!envelope) {
    const say = `The DNS provider ${provider} responded to the request to ${what} with status ${status} and a body that is not the JSON of its API.`;
    throw new ProviderFault('unavailable', say, unknownFate);
  }
  const told = envelope.errors.map(({ code, message }) => `${message} (${code})`).join('; ') || 'it gave no reason';
  const say = `The DNS provider ${provider} responded to the request to ${what} with status ${status}: ${told}.`;
  const isTemporary = status === 429 || status >= 500;
  throw new ProviderFault(isTemporary ? 'unavailable' : 'refused', say, {
    nothingChanged: !isWrite || (status >= 400 && status < 500),
  });
}

const ERRORS_MAX = 3;
const MESSAGE_CHARS_MAX = 200;

function parseEnvelope(text: string): Envelope | undefined {
  const value = parseJson(text);
  if (!isObject(value) || typeof value.success !== 'boolean') return undefined;
  const errors = Array.isArray(value.errors) ? value.errors.filter(isObject) : [];
  const info = isObject(value.result_info) ? value.result_info : {};
  return {
    success: value.success,
    result: value.result,
    errors: errors.slice(0, ERRORS_MAX).map(({ code, message }) => ({
      code: typeof code === 'number' ? code : 0,
      message: String(message ?? '')
        .replaceAll(/\p{Cc}/gu, ' ')
        .slice(0, MESSAGE_CHARS_MAX),
    })),
    pages: typeof info.total_pages === 'number' ? info.total_pages : 1,
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

interface CloudflareOptions {
  name: string;
  apiUrl: string;
  token(): string;
  /** The zones it may write; undefined leaves that to the token. */
  zones: readonly string[] | undefined;
  call: ApiCall;
  /** Aborts the calls under way. */
  signal: AbortSignal;
}

const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
const ZONES_PER_PAGE = 50;
const RECORDS_PER_PAGE = 100;
/** The ttl of records whose provider chooses it. */
const AUTOMATIC = 1;
/** A thousand zones, and more records of one name than any zone has. */
const PAGES_MAX = 20;

/**
 * Client of Cloudflare's API: bearer token, an envelope around every response, records by id. Updates are made one by
 * one.
 */
export function createCloudflare(options: CloudflareOptions): DnsProvider {
  const { name } = options;
  const zoneIds = new Map<string, string>();

  const allZones = async (): Promise<string[]> => {
    const zones = await listPages(options, 'list the zones', '/zones', { per_page: String(ZONES_PER_PAGE) });
    for (const zone of zones) zoneIds.set(textAt(zone, 'name').toLowerCase(), textAt(zone, 'id'));
    return [...zoneIds.keys()];
  };
  const findZoneId = async (zone: string): Promise<string> => {
    if (zoneIds.size === 0) await allZones();
    const id = zoneIds.get(zone);
    if (id !== undefined) return id;
    const say = `The token of the DNS provider ${name} has no access to the zone ${zone}.`;
    throw new ProviderFault('refused', say, { nothingChanged: true });
  };

  return {
    name,
    async findZone(domain) {
      return zoneAmong(name, options.zones ?? (await allZones()), domain);
    },
    async recordsAt(zone, queries) {
      const path = `/zones/${encodeURIComponent(await findZoneId(zone))}/dns_records`;
      const found: ZoneRecord[] = [];
      for (const { name } of queries) {
        const query = { 'name.exact': name.toLowerCase(), per_page: String(RECORDS_PER_PAGE) };
        const rows = await listPages(options, `list the records of ${name}`, path, query);
        // Filter again, in case the server ignored the filter.
        found.push(...rows.map(readRecord).filter((record) => sameNames(record.name, name)));
      }
      return found;
    },
    async apply(zone, { deletes, creates }) {
      const path = `/zones/${encodeURIComponent(await findZoneId(zone))}/dns_records`;
      let done = 0;
      try {
        for (const record of deletes) {
          const what = `delete the ${record.type} record of ${record.name}`;
          await callApi(options, what, 'DELETE', `${path}/${encodeURIComponent(String(record.handle))}`);
          done++;
        }
        for (const record of creates) {
          await callApi(options, `create the ${record.type} record of ${record.name}`, 'POST', path, buildBody(record));
          done++;
        }
      } catch (error) {
        if (!(error instanceof ProviderFault) || done === 0) throw error;
        const say = `${error.message} ${done} of ${deletes.length + creates.length} changes were made before that; configure again to make the remaining ones.`;
        throw new ProviderFault(error.kind, say, { nothingChanged: false, because: error });
      }
    },
  };
}

async function listPages(
  options: CloudflareOptions,
  what: string,
  path: string,
  query: Record<string, string>,
): Promise<Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = [];
  for (let page = 1; ; page++) {
    const target = `${path}?${new URLSearchParams({ ...query, page: String(page) })}`;
    const { result, pages } = await callApi(options, what, 'GET', target);
    if (!Array.isArray(result)) throw notTheShape(options.name, what);
    rows.push(...result.filter(isObject));
    if (page >= pages) return rows;
    if (page === PAGES_MAX) {
      const say = `The DNS provider ${options.name} has more than ${PAGES_MAX} pages of results for the request to ${what}, which is more than is read.`;
      throw new ProviderFault('refused', say, { nothingChanged: true });
    }
  }
}

async function callApi(
  options: CloudflareOptions,
  what: string,
  method: ApiRequest['method'],
  target: string,
  body?: object,
) {
  const request: ApiRequest = {
    method,
    url: new URL(options.apiUrl + target),
    headers: { authorization: `Bearer ${options.token()}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  };
  const answer = await options.call(request, { bytesMax: ANSWER_BYTES_MAX, signal: options.signal });
  return readEnvelope(options.name, what, answer, method !== 'GET');
}

/**
 * Builds the body of a record. TXT is quoted, as in a zone file: the API would split unquoted text at places of its own
 * choice.
 */
function buildBody(record: NewRecord): object {
  const data = toRecordData(record);
  const common = {
    name: record.name,
    type: record.type,
    ttl: record.ttl === AUTOMATIC ? AUTOMATIC : Math.max(60, record.ttl),
  };
  switch (data.type) {
    case 'CAA':
      return { ...common, data: { flags: data.flags, tag: data.tag, value: data.value } };
    case 'MX':
      return { ...common, content: data.exchange, priority: data.priority };
    case 'CNAME':
      // A proxied name resolves to addresses of the provider, through which readers of our links cannot reach us.
      return { ...common, content: data.target, proxied: false };
    default:
      return { ...common, content: recordValue(data) };
  }
}

function readRecord(row: Record<string, unknown>): ZoneRecord {
  const type = textAt(row, 'type');
  const content = textAt(row, 'content');
  return {
    name: textAt(row, 'name'),
    type,
    value: type === 'TXT' ? textOfStrings(content) : content,
    priority: type === 'MX' && typeof row.priority === 'number' ? row.priority : null,
    ttl: typeof row.ttl === 'number' ? row.ttl : 1,
    handle: textAt(row, 'id'),
  };
}

function textAt(row: Record<string, unknown>, field: string): string {
  const value = row[field];
  return typeof value === 'string' ? value : '';
}

const notTheShape = (provider: string, what: string): ProviderFault =>
  new ProviderFault('unavailable', `The DNS provider ${provider} did not return a list for the request to ${what}.`, {
    nothingChanged: true,
  });
