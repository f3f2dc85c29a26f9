import { isoTime } from '../../../platform/clock.ts';
import { notFound, refuse } from '../../../platform/refusal.ts';
import type { Store } from '../../../platform/store.ts';
import * as store from './certificates.store.ts';
import { allCertificates, makeDue, certificateById, type CertificateRow } from './certificates.store.ts';
import type { Config } from '../../../platform/config/index.ts';
import { policyHosts, trackingHosts } from '../../../mail/domains/index.ts';
import { readOwnHosts } from '../../../tenancy/instance/index.ts';
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { Secrets, SealedColumn } from '../../../platform/secrets/index.ts';

const OF_CERTIFICATE = 'certificate key';
const OF_ACCOUNT = 'acme account key';

export const SEALED_CERTIFICATE_KEYS: readonly SealedColumn[] = [
  { table: 'certificates', column: 'private_key', purpose: OF_CERTIFICATE },
  { table: 'certificates', column: 'order_key', purpose: OF_CERTIFICATE },
  { table: 'acme_accounts', column: 'private_key', purpose: OF_ACCOUNT },
];

type Sealing = { secrets: Pick<Secrets, 'seal' | 'open'> };

const makeKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey;
const toPem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

export const newCertificateKey = ({ secrets }: Sealing, id: string): string =>
  secrets.seal(toPem(makeKey()), OF_CERTIFICATE, id);

export const newAccountKey = ({ secrets }: Sealing, id: string): string =>
  secrets.seal(toPem(makeKey()), OF_ACCOUNT, id);

/** Returns the private key in PEM. */
export const openCertificateKey = ({ secrets }: Sealing, sealed: string, id: string): string =>
  secrets.open(sealed, OF_CERTIFICATE, id);

export const openAccountKey = ({ secrets }: Sealing, sealed: string, id: string): KeyObject =>
  createPrivateKey(secrets.open(sealed, OF_ACCOUNT, id));

/** Certificate and key presented for some names, in PEM. */
export interface ShownCertificate {
  cert: string;
  key: string;
  startsAt: number;
  endsAt: number;
}

export async function readShown(ctx: Pick<Store, 'db' | 'secrets'>, id: string): Promise<ShownCertificate | undefined> {
  const row = await certificateById(ctx.db, id);
  if (!row || row.chain === null || row.private_key === null) return undefined;
  const key = openCertificateKey(ctx, row.private_key, row.id);
  return { cert: row.chain, key, startsAt: row.starts_at ?? 0, endsAt: row.ends_at ?? 0 };
}

const timeOrNull = (ms: number | null): string | null => (ms === null ? null : isoTime(ms));

function present(row: CertificateRow, now: number) {
  const isIssued = row.chain !== null;
  return {
    object: 'certificate' as const,
    id: row.id,
    name: row.name,
    kind: row.kind,
    names: row.names.split(' '),
    status: deriveStatus(row, now),
    starts_at: isIssued ? timeOrNull(row.starts_at) : null,
    ends_at: isIssued ? timeOrNull(row.ends_at) : null,
    next_try_at: isoTime(row.next_try_at),
    failing_since: timeOrNull(row.failing_since),
    last_error: row.failing_since === null ? null : row.error,
  };
}

function deriveStatus({ chain, ends_at: endsAt, failing_since: failingSince }: CertificateRow, now: number) {
  if (chain === null) return failingSince === null ? ('awaited' as const) : ('failing' as const);
  if (endsAt !== null && endsAt <= now) return 'expired' as const;
  return failingSince === null ? ('issued' as const) : ('failing' as const);
}

/** Lists all current and wanted certificates, our own first. */
export async function listCertificates({ clock, config, db }: Store) {
  const rows = await allCertificates(db);
  return {
    object: 'certificates' as const,
    as_of: isoTime(clock.now()),
    source: deriveSource(config),
    authority: config.acme.directory === '' ? null : config.acme.directory,
    certificates: rows.map((row) => present(row, clock.now())),
  };
}

const deriveSource = ({ acme, tls }: Store['config']) =>
  tls.certificate_file !== '' ? ('files' as const) : acme.directory !== '' ? ('authority' as const) : ('none' as const);

/** Makes one certificate due, or all; the next run of the scheduler orders them within a minute. */
export async function renewCertificates(
  { clock, config, db }: Store,
  { name, new_key: newKey = false }: { name?: string; new_key?: boolean },
) {
  if (!asksForCertificates(config)) {
    throw refuse('validation_error', {
      status: 422,
      say: 'This installation does not request certificates from an authority: acme.directory is empty in the settings, or tls.certificate_file is set to your own certificate.',
    });
  }
  const rows = (await allCertificates(db)).filter((row) => name === undefined || row.name === name.toLowerCase());
  if (name !== undefined && rows.length === 0) throw notFound('Certificate');
  await db.tx(async (tx) => {
    for (const { id } of rows) await makeDue(tx, id, { now: clock.now(), newKey });
  });
  return { object: 'certificate_renewal' as const, certificates: rows.length };
}

interface Wanted {
  name: string;
  kind: CertificateRow['kind'];
  names: readonly string[];
}

/**
 * Reports whether certificates are ordered. They are not if the operator provides certificate files, which are used
 * instead.
 */
export const asksForCertificates = ({ acme, tls }: Config): boolean =>
  acme.directory !== '' && tls.certificate_file === '';

/** Returns the names of this installation: its host name, that of the API, and those of the settings. */
export function hostNames({ acme, http, instance }: Config): string[] {
  const { hostname = '' } = http.public_url.startsWith('https:') ? (URL.parse(http.public_url) ?? {}) : {};
  const all = [instance.host, ...(isName(hostname) ? [hostname] : []), ...acme.names];
  return [...new Set(all.map((name) => name.toLowerCase()))];
}

const isName = (host: string): boolean => host.includes('.') && !/^[\d.]+$|:/.test(host);

/**
 * Keeps a row for each wanted certificate. One that is no longer wanted stays in use until it would be renewed, so that
 * a name whose DNS is wrong for an hour is not ordered again.
 */
export async function keepWanted(ctx: Store): Promise<void> {
  const { clock, config, db, ids } = ctx;
  const now = clock.now();
  const { all } = await readOwnHosts(ctx, db);
  const own = [...new Set([...hostNames(config), ...all])];
  const wanted: Wanted[] = [{ name: own[0] ?? '', kind: 'host', names: own.toSorted() }];
  if (config.acme.tracking_hosts) {
    const pointed = [
      ...(await trackingHosts(db)).map((name) => ({ name, kind: 'tracking' as const })),
      ...(await policyHosts(db, now)).map((name) => ({ name, kind: 'mta_sts' as const })),
    ];
    for (const { name, kind } of pointed) {
      if (!own.includes(name)) wanted.push({ name, kind, names: [name] });
    }
  }
  const present = new Map((await store.knownCertificates(db)).map((row) => [row.name, row]));
  for (const { name, kind, names } of wanted) {
    const row = present.get(name);
    present.delete(name);
    const asText = names.join(' ');
    if (!row) await store.insertCertificate(db, { id: ids.uuid(), name, kind, names: asText, created_at: now });
    else if (row.names !== asText || row.kind !== kind)
      await store.changeNames(db, row.id, { kind, names: asText, now });
  }
  for (const { id, is_issued: isIssued, next_try_at: at } of present.values()) {
    if (isIssued === 0 || at <= now) await db.tx((tx) => store.removeCertificate(tx, id));
  }
  await store.removeEndedChallenges(db, now);
}
