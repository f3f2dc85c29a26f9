import type { Config } from '../../../platform/config/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { trackingHosts } from '../../../mail/domains/index.ts';
import * as store from './certificates.store.ts';

export interface Wanted {
  name: string;
  kind: 'host' | 'tracking';
  names: readonly string[];
}

/** Whether certificates are asked for: files of the operator's own are shown instead, so nothing is asked for beside them. */
export const asksForCertificates = ({ acme, tls }: Config): boolean =>
  acme.directory !== '' && tls.certificate_file === '';

/** Of this installation itself: its name, the one that the API is reached by, and those of the settings. */
export function hostNames({ acme, http, instance }: Config): string[] {
  const { hostname = '' } = http.public_url.startsWith('https:') ? (URL.parse(http.public_url) ?? {}) : {};
  const all = [instance.host, ...(isName(hostname) ? [hostname] : []), ...acme.names];
  return [...new Set(all.map((name) => name.toLowerCase()))];
}

const isName = (host: string): boolean => host.includes('.') && !/^[\d.]+$|:/.test(host);

/**
 * Keeps a row for each certificate that there is to be. Another one is shown until it would be renewed: a name whose DNS is
 * wrong for an hour is not ordered anew.
 */
export async function keepWanted(ctx: Store): Promise<void> {
  const { clock, config, db, ids } = ctx;
  const now = clock.now();
  const own = hostNames(config);
  const wanted: Wanted[] = [{ name: own[0] ?? '', kind: 'host', names: own.toSorted() }];
  if (config.acme.tracking_hosts) {
    for (const name of await trackingHosts(db)) {
      if (!own.includes(name)) wanted.push({ name, kind: 'tracking', names: [name] });
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
