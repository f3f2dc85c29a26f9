/** Where a database URL leads, and how it may be shown. */
export interface PostgresUrl {
  /** A name, an address, or the folder of a unix socket. */
  host: string;
  /** Empty for the usual one. */
  port: string;
  database: string;
  masked: string;
}

/** `postgres://user@/rasket?host=/run/postgresql`: PostgreSQL's own programs and pg take it, and URL refuses it. */
const WITHOUT_HOST = /^(postgres(?:ql)?:\/\/[^/?#]*@)(?=\/)/;
const STAND_IN = 'stand-in.invalid';

/** Undefined for what leads to no PostgreSQL. */
export function readPostgresUrl(text: string): PostgresUrl | undefined {
  const isWithoutHost = WITHOUT_HOST.test(text);
  const whole = text.replace(WITHOUT_HOST, `$1${STAND_IN}`);
  if (!/^postgres(ql)?:\/\//.test(text) || !URL.canParse(whole)) return undefined;
  const url = new URL(whole);
  const { hostname, port, pathname, searchParams } = url;
  const said = searchParams.get('host') ?? '';
  if (isWithoutHost && said === '') return undefined;
  return {
    host: said === '' ? decoded(hostname) : said,
    port: searchParams.get('port') ?? port,
    database: decoded(pathname.slice(1)),
    masked: masked(url).replace(`@${STAND_IN}/`, '@/'),
  };
}

/** pg also takes a password from the query (`?password=`), so that one is hidden too. */
function masked(url: URL): string {
  if (url.password !== '') url.password = '***';
  for (const name of new Set(url.searchParams.keys())) {
    if (/pass|secret|token/i.test(name)) url.searchParams.set(name, '***');
  }
  return url.href;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
