import { SEALED_LISTENER_SECRETS } from './features/webhooks/start.ts';
import type { SealedColumn } from './platform/secrets/index.ts';
import { SEALED_CERTIFICATE_KEYS } from './features/installation/index.ts';
import { SEALED_DKIM_KEYS } from './mail/domains/index.ts';
import { SEALED_MFA_SECRETS } from './features/identity/index.ts';
import { SEALED_SSO_SECRETS } from './tenancy/sso-rows/index.ts';
import { SEALED_WEBHOOK_SECRETS } from './features/webhooks/index.ts';

/** Every column whose texts are sealed with the instance key. */
export const SEALED_COLUMNS: readonly SealedColumn[] = [
  SEALED_DKIM_KEYS,
  SEALED_MFA_SECRETS,
  ...SEALED_WEBHOOK_SECRETS,
  SEALED_LISTENER_SECRETS,
  SEALED_SSO_SECRETS,
  ...SEALED_CERTIFICATE_KEYS,
];
