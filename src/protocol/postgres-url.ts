/** One server of a database URL. */
export interface PostgresHost {
  /** A name, an address, or the folder of a Unix socket. */
  host: string;
  /** Empty for the default port. */
  port: string;
}

/** Values of `target_session_attrs` that a program which writes can use. */
export const TARGETS = ['any', 'read-write', 'primary'] as const;
export type Target = (typeof TARGETS)[number];
export const isTarget = (text: string): text is Target => (TARGETS as readonly string[]).includes(text);

/** The parts of a database URL, as libpq reads it. */
export interface PostgresUrl {
  /** In the order of the URL; never empty. */
  hosts: readonly PostgresHost[];
  database: string;
  /** The value of `target_session_attrs`, which may be unknown; undefined if there is none. */
  target: string | undefined;
  /** The URL in a form that may be shown. */
  masked: string;
  /** Returns a URL with this host only, which programs understand that take one. */
  withHost(host: PostgresHost): string;
}

/** Scheme, user with password, hosts, database and query. A password may contain an `@`, a host may not. */
const PARTS = /^(postgres(?:ql)?:\/\/)([^/?#]*@)?([^@/?#]*)([/?#].*)?$/s;
/** Replaces the hosts while `URL`, which takes exactly one, reads everything else. */
const STAND_IN = 'stand-in.invalid';
const PORT_MAX = 65_535;

/** Returns undefined if the text is not the URL of a PostgreSQL database. */
export function parsePostgresUrl(text: string): PostgresUrl | undefined {
  const [, scheme = '', user = '', authority = '', remaining = ''] = PARTS.exec(text) ?? [];
  const replaced = `${scheme}${user}${STAND_IN}${remaining}`;
  if (scheme === '' || !URL.canParse(replaced)) return undefined;
  const url = new URL(replaced);
  const hosts = parseHosts(authority, url.searchParams);
  // Without a host and a user it is the default server, as for libpq.
  if (hosts === undefined || (hosts[0]?.host === '' && user !== '')) return undefined;
  return {
    hosts,
    database: decode(url.pathname.slice(1)),
    target: url.searchParams.get('target_session_attrs') ?? undefined,
    masked: mask(url).replace(STAND_IN, authority),
    // A URL with one host stays as it is, except that `pg` takes an IPv6 address in the query only.
    withHost: (host) => (hosts.length === 1 && !host.host.includes(':') ? text : buildUrl(replaced, host)),
  };
}

/** `host` and `port` of the query take precedence over the hosts before the database. */
function parseHosts(authority: string, query: URLSearchParams): PostgresHost[] | undefined {
  const named = query.get('host') ?? '';
  if (named === '' && authority === '') return [{ host: '', port: query.get('port') ?? '' }];
  const places = authority === '' ? [] : authority.split(',').map(parsePlace);
  const hosts = named === '' ? places.map((place) => place?.host) : named.split(',');
  const listed = query.get('port') ?? '';
  const ports = listed === '' ? places.map((place) => place?.port ?? '') : listed.split(',');
  // A single port is that of every host, and no port at all is the default one.
  if (ports.length > 1 && ports.length !== hosts.length) return undefined;
  const found: PostgresHost[] = [];
  for (const [at, host] of hosts.entries()) {
    const port = (ports.length === 1 ? ports[0] : ports[at]) ?? '';
    if (host === undefined || host === '' || !isPort(port)) return undefined;
    found.push({ host, port });
  }
  return found.length === 0 ? undefined : found;
}

/** Reads `name`, `name:port` or `[address]:port`; returns undefined for anything else. */
function parsePlace(text: string): PostgresHost | undefined {
  const [whole, address, name = '', port = ''] = /^(?:\[([\da-f:.]+)\]|([^:[\]\s]+))(?::(\d*))?$/i.exec(text) ?? [];
  if (whole === undefined) return undefined;
  return { host: address ?? decode(name), port };
}

const isPort = (text: string): boolean =>
  text === '' || (/^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= PORT_MAX);

/** Writes the host into the query, which takes sockets and addresses of both kinds as they are. */
function buildUrl(replaced: string, { host, port }: PostgresHost): string {
  const url = new URL(replaced);
  url.searchParams.delete('port');
  url.searchParams.set('host', host);
  if (port !== '') url.searchParams.set('port', port);
  return url.href;
}

/** pg also takes a password from the query (`?password=`), so mask that one too. */
function mask(from: URL): string {
  const url = new URL(from);
  if (url.password !== '') url.password = '***';
  for (const name of new Set(url.searchParams.keys())) {
    if (/pass|secret|token/i.test(name)) url.searchParams.set(name, '***');
  }
  return url.href;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Formats a host for people, such as `db1:5432`, `[::1]:5432` or `/run/postgresql`. */
export function formatHost({ host, port }: PostgresHost): string {
  const name = host.includes(':') ? `[${host}]` : host;
  return port === '' ? name : `${name}:${port}`;
}
