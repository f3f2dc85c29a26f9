import type { UpdateDomainRequest } from '../../../src/contract/index.ts';

type Capability = NonNullable<UpdateDomainRequest['capabilities']>['sending'];

export interface SettingsOptions {
  openTracking?: boolean;
  clickTracking?: boolean;
  trackingSubdomain?: string;
  tls?: UpdateDomainRequest['tls'];
  tlsVerify?: boolean;
  sending?: Capability;
  receiving?: Capability;
  confirmReplaceMx?: boolean;
}

/** The settings that were named on the command line, and no others. */
export function readSettings(options: SettingsOptions): UpdateDomainRequest {
  const { openTracking, clickTracking, trackingSubdomain, tls, tlsVerify, sending, receiving, confirmReplaceMx } =
    options;
  const capabilities = {
    ...(sending === undefined ? {} : { sending }),
    ...(receiving === undefined ? {} : { receiving }),
  };
  return {
    ...(openTracking === undefined ? {} : { open_tracking: openTracking }),
    ...(clickTracking === undefined ? {} : { click_tracking: clickTracking }),
    ...(trackingSubdomain === undefined ? {} : { tracking_subdomain: trackingSubdomain }),
    ...(tls === undefined ? {} : { tls }),
    ...(tlsVerify === undefined ? {} : { tls_verify: tlsVerify }),
    ...(Object.keys(capabilities).length === 0 ? {} : { capabilities }),
    ...(confirmReplaceMx === undefined ? {} : { confirm_replace_mx: confirmReplaceMx }),
  };
}
