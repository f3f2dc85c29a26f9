import type { Store } from '../../platform/store/index.ts';
import { signersOf } from '../../protocol/read-message/index.ts';
import { expectedRecords, findDomainByName, keysOf, type RecordRow } from '../domains/index.ts';
import { authenticate, type Checks } from '../receive/index.ts';
import type { CapturedRow } from './captured-messages.store.ts';

/** An address of the ranges for documentation: where the mail would have come from. */
const OUR_ADDRESS = '192.0.2.1';

/**
 * SPF, DKIM, DMARC and ARC of a captured message as a receiving server would find them, with the listed records of its domains
 * published and the mail sent from the instance's host. No DNS server is asked.
 */
export async function checkCaptured(store: Store, row: CapturedRow, message: Buffer): Promise<Checks> {
  const { host } = store.config.instance;
  // The development profile's `localhost` is no name that SPF may speak of; a host of one word is judged as a full one.
  const fullHost = host.includes('.') ? host : `${host}.example`;
  const published = ({ value }: RecordRow): string =>
    fullHost === host ? value : value.replaceAll(new RegExp(`:${host}(?= |$)`, 'g'), `:${fullHost}`);
  const records = await recordsOf(store, row.team_id, [...new Set(signersOf(message).map(({ domain }) => domain))]);
  const resolve = (name: string, type: string): Promise<unknown> => {
    const asked = name.toLowerCase();
    if (asked === fullHost.toLowerCase() && type === 'A') return Promise.resolve([OUR_ADDRESS]);
    const found = records.filter((record) => record.type === type && record.name.toLowerCase() === asked);
    if (found.length === 0) return Promise.reject(Object.assign(new Error('no such record'), { code: 'ENOTFOUND' }));
    if (type === 'MX')
      return Promise.resolve(found.map(({ value, priority }) => ({ exchange: value, priority: priority ?? 0 })));
    return Promise.resolve(found.map((record) => [published(record)]));
  };
  const client = { address: OUR_ADDRESS, name: fullHost };
  return authenticate({ raw: message, mailFrom: row.mail_from, client, host: 'mx.playground.test' }, resolve);
}

async function recordsOf(store: Store, teamId: string, names: readonly string[]): Promise<RecordRow[]> {
  const found = await Promise.all(names.slice(0, 10).map((name) => findDomainByName(store.db, teamId, name)));
  const domains = found.filter((domain) => domain !== undefined);
  const records = domains.map(async (domain) => expectedRecords(store, domain, await keysOf(store.db, domain.id)));
  return (await Promise.all(records)).flat();
}
