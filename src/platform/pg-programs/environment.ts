import { existsSync } from 'node:fs';
import os from 'node:os';
import { partsOfPgUrl } from '../db/index.ts';

/** The authorities that the system trusts, as Debian, Fedora and Alpine keep them. */
const BUNDLES = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt', '/etc/ssl/cert.pem'];

/** Where a system keeps programs. */
const PATHS = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** What any program needs; none of our secrets is handed on. A `.pgpass` is found in the home. */
export const bareEnvironment = (): NodeJS.ProcessEnv => ({ PATH: PATHS, HOME: os.homedir(), LC_ALL: 'C' });

/** The same database that `pg` reaches by this URL, for PostgreSQL's own programs. */
export async function pgEnvironment(url: string): Promise<NodeJS.ProcessEnv> {
  const { host, port, user, database, password } = await partsOfPgUrl(url);
  const named = { PGHOST: host, PGPORT: port, PGUSER: user, PGDATABASE: database, PGPASSWORD: password };
  return {
    ...bareEnvironment(),
    ...Object.fromEntries(Object.entries(named).filter(([, value]) => value !== '')),
    PGAPPNAME: 'rasket backup',
    ...tlsOf(url),
  };
}

/** `pg` verifies the server wherever it is told to speak TLS, unless it is told not to: so do they. */
function tlsOf(url: string): NodeJS.ProcessEnv {
  const query = new URLSearchParams(url.includes('?') ? url.slice(url.indexOf('?')) : '');
  const files = Object.fromEntries(
    Object.entries({ PGSSLROOTCERT: 'sslrootcert', PGSSLCERT: 'sslcert', PGSSLKEY: 'sslkey' }).flatMap(
      ([name, parameter]) => (query.has(parameter) ? [[name, query.get(parameter) ?? '']] : []),
    ),
  );
  const mode = query.get('sslmode') ?? (['true', '1'].includes(query.get('ssl') ?? '') ? 'verify-full' : '');
  if (mode === '') return files;
  if (mode === 'no-verify') return { ...files, PGSSLMODE: 'require' };
  if (mode === 'disable' || query.get('uselibpqcompat') === 'true') return { ...files, PGSSLMODE: mode };
  const bundle = BUNDLES.find((file) => existsSync(file));
  return { ...(bundle === undefined ? {} : { PGSSLROOTCERT: bundle }), ...files, PGSSLMODE: 'verify-full' };
}
