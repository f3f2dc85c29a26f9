import { isoTime } from '../../../platform/clock/index.ts';
import { notFound, refuse } from '../../../platform/refusal/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { allCertificates, makeDue, type CertificateRow } from './certificates.store.ts';
import { asksForCertificates } from './wanted.ts';

const timeOrNull = (ms: number | null): string | null => (ms === null ? null : isoTime(ms));

function present(row: CertificateRow, now: number) {
  const isIssued = row.chain !== null;
  return {
    object: 'certificate' as const,
    ...{ id: row.id, name: row.name, kind: row.kind, names: row.names.split(' ') },
    status: statusOf(row, now),
    starts_at: isIssued ? timeOrNull(row.starts_at) : null,
    ends_at: isIssued ? timeOrNull(row.ends_at) : null,
    next_try_at: isoTime(row.next_try_at),
    failing_since: timeOrNull(row.failing_since),
    last_error: row.failing_since === null ? null : row.error,
  };
}

function statusOf({ chain, ends_at: endsAt, failing_since: failingSince }: CertificateRow, now: number) {
  if (chain === null) return failingSince === null ? ('awaited' as const) : ('failing' as const);
  if (endsAt !== null && endsAt <= now) return 'expired' as const;
  return failingSince === null ? ('issued' as const) : ('failing' as const);
}

/** All there are and are to be, our own first. */
export async function listCertificates({ clock, config, db }: Store) {
  const rows = await allCertificates(db);
  return {
    object: 'certificates' as const,
    as_of: isoTime(clock.now()),
    source: sourceOf(config),
    authority: config.acme.directory === '' ? null : config.acme.directory,
    certificates: rows.map((row) => present(row, clock.now())),
  };
}

const sourceOf = ({ acme, tls }: Store['config']) =>
  tls.certificate_file !== '' ? ('files' as const) : acme.directory !== '' ? ('authority' as const) : ('none' as const);

/** Makes one due, or all; the next look of the scheduler, within a minute, asks for them. */
export async function renewCertificates(
  { clock, config, db }: Store,
  { name, new_key: newKey = false }: { name?: string; new_key?: boolean },
) {
  if (!asksForCertificates(config)) {
    throw refuse('validation_error', {
      status: 422,
      say: 'No authority is asked for certificates here: acme.directory is empty in the settings, or tls.certificate_file names a file of your own.',
    });
  }
  const rows = (await allCertificates(db)).filter((row) => name === undefined || row.name === name.toLowerCase());
  if (name !== undefined && rows.length === 0) throw notFound('Certificate');
  await db.tx(async (tx) => {
    for (const { id } of rows) await makeDue(tx, id, { now: clock.now(), newKey });
  });
  return { object: 'certificate_renewal' as const, certificates: rows.length };
}
