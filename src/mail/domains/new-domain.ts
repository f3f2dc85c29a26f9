import type { Region } from '../../contract/index.ts';

export interface NewDomain {
  name: string;
  region?: Region;
  open_tracking?: boolean;
  click_tracking?: boolean;
  tracking_subdomain?: string;
  custom_return_path?: string;
  tls?: 'opportunistic' | 'enforced';
  tls_verify?: boolean;
  capabilities?: { sending?: 'enabled' | 'disabled'; receiving?: 'enabled' | 'disabled' };
}

export type DomainPatch = Pick<
  NewDomain,
  'open_tracking' | 'click_tracking' | 'tls' | 'tls_verify' | 'tracking_subdomain' | 'capabilities'
> & { confirm_replace_mx?: boolean };
