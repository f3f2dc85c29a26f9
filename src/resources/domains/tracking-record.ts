import type { Config } from '../../platform/config/index.ts';
import { invalidFields, type Refusal } from '../../platform/refusal/index.ts';
import type { DomainRow, RecordRow } from './domains.store.ts';

/** Behind the records that every domain has. */
const POSITION = 3;

/**
 * The name that stands in tracked links, led to us by the domain's owner. Nothing else of the domain hangs on it: while
 * it is not published, mail goes out untouched.
 */
export function trackingRecord(config: Config, domain: DomainRow): RecordRow | undefined {
  if (!domain.open_tracking && !domain.click_tracking) return undefined;
  return {
    domain_id: domain.id,
    position: POSITION,
    record: 'Tracking',
    name: `${domain.tracking_subdomain}.${domain.name}`,
    type: 'CNAME',
    value: config.tracking.host.replaceAll('{host}', config.instance.host).toLowerCase(),
    priority: null,
    status: 'not_started',
  };
}

/** RFC 1034 §3.6.2: where a CNAME stands no other record can, and the return path has two. */
export function returnPathClash(domain: DomainRow): Refusal | undefined {
  const { tracking_subdomain: label, custom_return_path: returnPath, open_tracking, click_tracking } = domain;
  if (label !== returnPath || (!open_tracking && !click_tracking)) return undefined;
  const message = `tracking_subdomain: "${label}" is the label of the return path, whose records no CNAME can stand beside; choose another, such as ${label === 'track' ? 'links' : 'track'}.`;
  return invalidFields([{ path: 'tracking_subdomain', message }]);
}
