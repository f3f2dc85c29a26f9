import type { Config } from '../../platform/config/index.ts';
import { invalidFields, type Refusal } from '../../platform/refusal/index.ts';
import type { DomainRow, WantedRecord } from './domain-rows.ts';

/**
 * The name that stands in tracked links, led to us by the domain's owner, and leave for an authority to certify it.
 * Nothing else of the domain hangs on them: while they are not published, mail goes out untouched.
 */
export function trackingRecords(config: Config, domain: DomainRow): WantedRecord[] {
  if (!domain.open_tracking && !domain.click_tracking) return [];
  const value = config.tracking.host.replaceAll('{host}', config.instance.host).toLowerCase();
  const name = `${domain.tracking_subdomain}.${domain.name}`;
  return [
    { record: 'Tracking', name, type: 'CNAME', value, required: 0 },
    // RFC 8659 §3: what forbids stands above, and beside the CNAME no CAA record can stand.
    {
      record: 'TrackingCAA',
      name: domain.name,
      type: 'CAA',
      value: `0 issue "${config.tracking.caa_issuer}"`,
      required: 0,
    },
  ];
}

/** RFC 1034 §3.6.2: where a CNAME stands no other record can, and the return path has two. */
export function returnPathClash(domain: DomainRow): Refusal | undefined {
  const { tracking_subdomain: label, custom_return_path: returnPath, open_tracking, click_tracking } = domain;
  if (label !== returnPath || (!open_tracking && !click_tracking)) return undefined;
  const message = `tracking_subdomain: "${label}" is the label of the return path, whose records no CNAME can stand beside; choose another, such as ${label === 'track' ? 'links' : 'track'}.`;
  return invalidFields([{ path: 'tracking_subdomain', message }]);
}
