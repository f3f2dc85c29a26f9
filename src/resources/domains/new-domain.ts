export interface NewDomain {
  name: string;
  region?: string;
  open_tracking?: boolean;
  click_tracking?: boolean;
  tracking_subdomain?: string;
  custom_return_path?: string;
  tls?: 'opportunistic' | 'enforced';
  capabilities?: { sending?: 'enabled' | 'disabled'; receiving?: 'enabled' | 'disabled' };
}

export type DomainPatch = Pick<
  NewDomain,
  'open_tracking' | 'click_tracking' | 'tls' | 'tracking_subdomain' | 'capabilities'
> & { confirm_replace_mx?: boolean };
